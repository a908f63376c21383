# SPDX-License-Identifier: GPL-2.0

# The base to build for: 6.12, or a folder of bases/, as in "make BASE=7.3 kernel".
# Anything built for a base other than the default is in build/BASE.
export BASE ?=
# The architecture to cross-compile for and to emulate, arm64 or s390, as in
# "make ARCH=arm64 test". Anything compiled for it is in build/ARCH or build/BASE/ARCH.
ARCH_GOALS := help source kernel perf selftests demo tour test test-long test-unpatched \
	test-exact test-rounds stress fuzz kunit vm
OTHER_ARCH := $(filter arm64 s390,$(ARCH))
ifneq ($(OTHER_ARCH),)
ifneq ($(filter-out $(ARCH_GOALS),$(MAKECMDGOALS)),)
$(error ARCH=$(ARCH) works with these targets alone: $(ARCH_GOALS))
endif
export ARCH
endif
BUILD := build$(if $(wildcard bases/$(BASE)/BASE),/$(BASE))$(if $(OTHER_ARCH),/$(OTHER_ARCH))

# Kernels other than the default. KERNEL is the O= directory, and CONFIGS are the
# fragments of the configuration. The name of a fragment in configs/ sets both:
#   make test KERNEL=debug
KERNEL ?= $(BUILD)/kernel
CONFIGS ?= configs/vm.config
ifneq ($(wildcard configs/$(KERNEL).config),)
override CONFIGS := configs/vm.config configs/$(KERNEL).config
override KERNEL := $(BUILD)/kernel-$(KERNEL)
endif
# Make the path absolute, as some scripts work in another directory.
override KERNEL := $(abspath $(KERNEL))
export KERNEL CONFIGS

.PHONY: help source kernel perf selftests demo demo-notool tour check-readers check-triggers test test-long test-unpatched test-all \
	test-hazards test-readers test-daemon test-exact test-ends test-boot test-fleet test-kcsan test-rounds stress fuzz vm refresh series apply check \
	check-fastpath check-size check-builds docs picture kunit bench bench-check bench-time \
	bench-profile bench-figure bench-scale bench-idle bench-read bench-snapshot bench-daemon \
	test-apply test-vanilla deb test-deb clean

help:
	@echo 'Targets; each does only what is missing:'
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 20

source: ## unpack the kernel source into build/linux and apply all series
	@scripts/source.sh

kernel: source ## build the kernel of the guest, build/kernel
	@scripts/build.sh kernel

perf: source ## build perf, build/perf/perf
	@scripts/build.sh perf

selftests: kernel ## build the kernel's tests, build/selftests
	@scripts/build.sh selftests

demo: kernel perf ## show the flight recorder on a real workload in a guest
	@scripts/deps.sh vm demo
	@scripts/demo.sh

demo-notool: ## record on a machine without perf, and read the file on this one
	@$(MAKE) --no-print-directory kernel KERNEL=boot
	@scripts/deps.sh vm demo boot
	@KERNEL=$(BUILD)/kernel-boot scripts/demo-notool.sh

tour: kernel perf ## the demo, with all other commands
	@scripts/deps.sh vm demo
	@scripts/demo.sh tour

check-readers: kernel perf selftests ## read while others write, and count torn records and missing symbols
	@scripts/deps.sh vm tests
	@scripts/check-readers.sh

test-readers: kernel selftests ## KERNEL=debug: read data, text and ring-buffers for a long time
	@scripts/deps.sh vm
	@scripts/test-readers.sh

test-daemon: kernel perf ## perf record --daemon: 1,000 files while all CPUs write, 200 programs that exit, a stop after each write
	@scripts/deps.sh vm tests
	@scripts/test-daemon.sh

check-triggers: kernel selftests ## take snapshots while others write, fire triggers, and print the delay
	@scripts/deps.sh vm
	@scripts/check-triggers.sh

test: kernel perf selftests ## run the tests in a guest
	@scripts/deps.sh vm tests
	@scripts/test.sh

test-long: kernel perf selftests ## run the tests of perf that take longer
	@scripts/deps.sh vm tests
	@scripts/test.sh -l

test-unpatched: kernel perf selftests ## show that the new tests need the new kernel
	@scripts/deps.sh vm tests
	@scripts/test.sh -u

test-all: ## run all tests on all kernels, or STEPS="debug fault"; takes hours
	@scripts/test-all.sh $(STEPS)

test-hazards: kernel selftests ## show that each test fails without the guard that it tests
	@scripts/deps.sh vm
	@scripts/test-hazards.sh

test-exact: kernel selftests ## ROUNDS=1000: show that no record comes after stop, snapshot, disable or delete have returned
	@scripts/deps.sh vm
	@BUSY_ROUNDS=$(ROUNDS) BUSY_CALLS=1000 scripts/vm.sh -s 4 -t 7200 \
		sh -c '$(BUILD)/selftests/tracepoint -f busy && $(BUILD)/selftests/stop -f busy'

test-ends: kernel perf ## test reboot, panic, oops, warning, hung task, soft lockup, and a module that is unloaded
	@scripts/deps.sh vm
	@scripts/test-ends.sh

test-boot: perf ## test without perf: only busybox, the command line, machine checks
	@$(MAKE) --no-print-directory kernel KERNEL=boot
	@scripts/deps.sh vm boot
	@KERNEL=$(BUILD)/kernel-boot scripts/test-boot.sh

test-fleet: kernel perf ## test three guests with a broker: one trigger, a file of each guest, one timeline
	@scripts/deps.sh vm fleet
	@scripts/test-fleet.sh

test-kcsan: source perf selftests ## look for data races, compared with the unpatched kernel
	@scripts/deps.sh vm
	@scripts/test-kcsan.sh

MINUTES ?= 20
stress: kernel selftests ## KERNEL=debug MINUTES=20: do everything at once, at random
	@scripts/deps.sh vm
	@scripts/vm.sh -s 4 -m 3072 -t $$(($(MINUTES) * 60 + 300)) \
		$(BUILD)/selftests/stress -m $(MINUTES) $(if $(SEED),-s $(SEED))

ROUNDS ?= 1000
CYCLES ?= 100000
test-rounds: kernel selftests ## KERNEL=kmemleak ROUNDS=1000 CYCLES=100000: take CPUs off and on, create and delete namespaces
	@scripts/deps.sh vm
	@HOTPLUG_ROUNDS=$(ROUNDS) PERSISTENT_CYCLES=$(CYCLES) scripts/vm.sh -s 4 -m 3072 -t 10800 \
		bash -o pipefail -c 'for t in "hotplug -t loop" "many -t cycles" "many -t tracepoint_cycles"; do \
			$(BUILD)/selftests/$$t | tee /tmp/log || exit; ! grep "# SKIP" /tmp/log || exit; done'

SECONDS ?= 60
fuzz: kernel selftests ## SECONDS=60 SEED=: call the new interfaces with odd arguments
	@scripts/deps.sh vm
	@scripts/vm.sh -s 2 -m 3072 -t $$(($(SECONDS) + 300)) \
		$(BUILD)/selftests/fuzz -t $(SECONDS) $(if $(SEED),-s $(SEED))

kunit: ## run the kernel's own KUnit tests
	@$(MAKE) --no-print-directory kernel KERNEL=kunit
	@scripts/deps.sh vm
	@KERNEL=$(BUILD)/kernel-kunit scripts/kunit.sh

bench: perf ## measure the cost of a record, compared with plain perf, ftrace and LTTng, build/bench.json
	@scripts/deps.sh vm
	@scripts/bench.sh

bench-check: perf ## show that the recording path has not grown
	@scripts/deps.sh vm
	@scripts/bench.sh -c

bench-time: kernel perf ## the same in time, in guests of 4 CPUs
	@scripts/deps.sh vm
	@scripts/bench.sh -t

bench-scale: kernel perf ## create, list, open, read and delete one of many namespaces; memory of a namespace
	@scripts/deps.sh vm
	@scripts/bench-scale.sh

bench-snapshot: perf ## measure the cost of a snapshot, and how long it delays recording
	@scripts/deps.sh vm
	@scripts/bench.sh -S

bench-idle: kernel perf ## show that a namespace wakes nobody and runs nothing
	@scripts/deps.sh vm
	@scripts/bench-idle.sh

bench-daemon: kernel perf ## measure what perf record --daemon loses and delays while it writes a file
	@scripts/deps.sh vm
	@scripts/bench-daemon.sh

bench-read: kernel perf ## measure how fast full buffers are read, compared with memcpy, ftrace and perf record
	@scripts/deps.sh vm
	@scripts/bench-read.sh

CONFIG ?= persistent
ROW ?= getppid
bench-profile: perf ## CONFIG=plain ROW=getppid: profile of the instructions, by function
	@scripts/deps.sh vm
	@scripts/bench.sh -p $(CONFIG) $(ROW)

bench-figure: ## draw bench/figure.svg from build/bench.json
	@scripts/deps.sh figure
	@bench/figure.py build/bench.json bench/figure.svg

vm: kernel perf ## start a shell in the guest
	@scripts/deps.sh vm
	@scripts/vm.sh -k $(KERNEL)

refresh: ## write the commits and edits of build/linux back to patches/ and the new files
	@scripts/refresh.sh

series: source ## write complete patches for git am, with a cover letter for each series, to build/series
	@scripts/export.sh

.PHONY: diffstat check-series check-whole test-apply deb test-deb
diffstat: source ## show how much of perf's own files in the kernel each commit and series changes
	@scripts/diffstat.sh $(SERIES)

check-series: source ## SERIES=1-fixes: check every commit by itself: builds, sparse, style; all take an hour
	@scripts/check-series.sh $(SERIES)

check-whole: source ## the same checks for all commits together; two minutes
	@scripts/check-series.sh -l

# The scripts take LINUX for their own source tree, so pass this tree by another name.
ifeq ($(origin LINUX),command line)
unexport LINUX
export APPLY_TO := $(LINUX)
endif
apply: source ## LINUX=/path/to/linux: apply all series to your own git tree, or those up to SERIES=2-cost
	@scripts/apply.sh "$$APPLY_TO" $(SERIES)

test-apply: source ## apply to vanilla and to Debian's source, build the result and test it
	@scripts/deps.sh orig kernel vm tests
	@scripts/test-apply.sh

test-vanilla: source ## compile kernel/events of vanilla Linux with the series
	@scripts/deps.sh orig kernel
	@scripts/test-apply.sh -c

deb: source ## CONFIG=/path DEBUG=1: build Debian packages of the kernel and perf, build/deb
	@scripts/deb.sh $(if $(filter 1,$(DEBUG)),-g) $(if $(filter command environment,$(word 1,$(origin CONFIG))),$(CONFIG))

test-deb: source ## the same with a small configuration; install and boot them in a guest
	@scripts/deps.sh vm
	@scripts/test-deb.sh

check: source ## check the scripts and the series
	@scripts/check.sh

check-fastpath: source ## show that persistent events do not change the code that records a sample
	@scripts/deps.sh kernel
	@scripts/check-fastpath.sh build/linux configs/vm.config build/fastpath

check-size: source ## compare the code size without and with the series; show that templates have not grown
	@scripts/deps.sh kernel
	@scripts/check-size.sh

check-builds: source ## build with other options and for other architectures
	@scripts/deps.sh kernel cross
	@scripts/check-builds.sh

docs: source ## build the manual pages and the kernel's documents, build/docs
	@scripts/docs.sh

picture: kernel perf ## redraw the picture in the kernel's documents, in build/linux
	@scripts/deps.sh vm
	@scripts/picture.sh

clean: ## remove build, but keep build/linux if it has edits that would be lost
	@scripts/clean.sh
