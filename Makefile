# SPDX-License-Identifier: GPL-2.0

# Other kernels than the usual one, for example with debugging:
#   make test KERNEL=build/kernel-debug CONFIGS='configs/vm.config my.config'
KERNEL ?= build/kernel
CONFIGS ?= configs/vm.config
export KERNEL CONFIGS

.PHONY: help source kernel perf selftests demo test test-unpatched vm \
	refresh series check check-fastpath clean

help:
	@echo 'Targets; each does only what is missing:'
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 20

source: ## unpack the kernel source into build/linux and apply the series
	@scripts/source.sh

kernel: source ## build the kernel for the guest, build/kernel
	@scripts/build.sh kernel

perf: source ## build perf, build/perf/perf
	@scripts/build.sh perf

selftests: kernel ## build the kernel's tests, build/selftests
	@scripts/build.sh selftests

demo: kernel perf ## show it all on a real workload in a guest
	@scripts/deps.sh vm demo
	@scripts/demo.sh

test: kernel perf selftests ## run all tests in a guest
	@scripts/deps.sh vm
	@scripts/test.sh

test-unpatched: kernel perf selftests ## show that the new tests need the new kernel
	@scripts/deps.sh vm
	@scripts/test.sh -u

vm: kernel perf ## a shell in the guest
	@scripts/deps.sh vm
	@scripts/vm.sh -k $(KERNEL)

refresh: ## write the commits and edits of build/linux back to the series
	@scripts/refresh.sh

series: source ## complete patches for git am on your own tree, build/series
	@scripts/check-series.sh -e

check: source ## check the scripts and the series
	@scripts/check.sh

check-fastpath: source ## show that the code which records a sample is not touched
	@scripts/deps.sh kernel
	@scripts/check-fastpath.sh build/linux configs/vm.config build/fastpath

clean: ## remove build, unless edits in build/linux would be lost
	@scripts/clean.sh
