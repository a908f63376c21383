# SPDX-License-Identifier: GPL-2.0

# The base that all is made for: 6.12, or a folder of bases/, as in make BASE=7.3 kernel.
# What is made of another one than the usual is in build/BASE.
export BASE ?=
BUILD := build$(if $(wildcard bases/$(BASE)/BASE),/$(BASE))

# Other kernels than the usual one. KERNEL is its O= directory, CONFIGS what is
# merged to configure it; the name of a fragment in configs/ stands for both:
#   make test KERNEL=debug
KERNEL ?= $(BUILD)/kernel
CONFIGS ?= configs/vm.config
ifneq ($(wildcard configs/$(KERNEL).config),)
override CONFIGS := configs/vm.config configs/$(KERNEL).config
override KERNEL := $(BUILD)/kernel-$(KERNEL)
endif
# Some scripts work in another directory.
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

kernel: source ## build the kernel for the guest, build/kernel
	@scripts/build.sh kernel

perf: source ## build perf, build/perf/perf
	@scripts/build.sh perf

selftests: kernel ## build the kernel's tests, build/selftests
	@scripts/build.sh selftests

demo: kernel perf ## show it all on a real workload in a guest
	@scripts/deps.sh vm demo
	@scripts/demo.sh

demo-notool: ## a recorder on a machine without perf, read on this one
	@$(MAKE) --no-print-directory kernel KERNEL=boot
	@scripts/deps.sh vm demo boot
	@KERNEL=$(BUILD)/kernel-boot scripts/demo-notool.sh

tour: kernel perf ## the demo, and all the other commands
	@scripts/deps.sh vm demo
	@scripts/demo.sh tour

check-readers: kernel perf selftests ## read while writers write, and count torn records and lost symbols
	@scripts/deps.sh vm tests
	@scripts/check-readers.sh

test-readers: kernel selftests ## KERNEL=debug: read data, text and ring-buffers for long
	@scripts/deps.sh vm
	@scripts/test-readers.sh

test-daemon: kernel perf ## perf record --daemon: 1,000 files while all write, 200 programs that die, and stopped behind each write
	@scripts/deps.sh vm tests
	@scripts/test-daemon.sh

check-triggers: kernel selftests ## take snapshots while writers write, fire triggers, and print the delay
	@scripts/deps.sh vm
	@scripts/check-triggers.sh

test: kernel perf selftests ## run the tests in a guest
	@scripts/deps.sh vm tests
	@scripts/test.sh

test-long: kernel perf selftests ## the tests of perf that take longer
	@scripts/deps.sh vm tests
	@scripts/test.sh -l

test-unpatched: kernel perf selftests ## show that the new tests need the new kernel
	@scripts/deps.sh vm tests
	@scripts/test.sh -u

test-all: ## all tests there are, on all kernels, or STEPS="debug fault"; takes hours
	@scripts/test-all.sh $(STEPS)

test-hazards: kernel selftests ## show that each test fails without what it guards
	@scripts/deps.sh vm
	@scripts/test-hazards.sh

test-exact: kernel selftests ## ROUNDS=1000: once stop, snapshot, disable or delete have returned, no record comes
	@scripts/deps.sh vm
	@BUSY_ROUNDS=$(ROUNDS) BUSY_CALLS=1000 scripts/vm.sh -s 4 -t 7200 \
		sh -c '$(BUILD)/selftests/tracepoint -f busy && $(BUILD)/selftests/stop -f busy'

test-ends: kernel perf ## reboot, panic, oops, warning, hung task, and a module unloaded
	@scripts/deps.sh vm
	@scripts/test-ends.sh

test-boot: perf ## without perf: busybox alone, the command line, machine checks
	@$(MAKE) --no-print-directory kernel KERNEL=boot
	@scripts/deps.sh vm boot
	@KERNEL=$(BUILD)/kernel-boot scripts/test-boot.sh

test-fleet: kernel perf ## three guests with a broker: one trigger, a file of each, one timeline
	@scripts/deps.sh vm fleet
	@scripts/test-fleet.sh

test-kcsan: source perf selftests ## look for data races, beside the unpatched kernel
	@scripts/deps.sh vm
	@scripts/test-kcsan.sh

MINUTES ?= 20
stress: kernel selftests ## KERNEL=debug MINUTES=20: everything at once, at random
	@scripts/deps.sh vm
	@scripts/vm.sh -s 4 -m 3072 -t $$(($(MINUTES) * 60 + 300)) \
		$(BUILD)/selftests/stress -m $(MINUTES) $(if $(SEED),-s $(SEED))

ROUNDS ?= 1000
CYCLES ?= 100000
test-rounds: kernel selftests ## KERNEL=kmemleak ROUNDS=1000 CYCLES=100000: CPUs come and go, namespaces are made and deleted
	@scripts/deps.sh vm
	@HOTPLUG_ROUNDS=$(ROUNDS) PERSISTENT_CYCLES=$(CYCLES) scripts/vm.sh -s 4 -m 3072 -t 10800 \
		bash -o pipefail -c 'for t in "hotplug -t loop" "many -t cycles" "many -t tracepoint_cycles"; do \
			$(BUILD)/selftests/$$t | tee /tmp/log || exit; ! grep "# SKIP" /tmp/log || exit; done'

SECONDS ?= 60
fuzz: kernel selftests ## SECONDS=60 SEED=: odd arguments for the new calls
	@scripts/deps.sh vm
	@scripts/vm.sh -s 2 -m 3072 -t $$(($(SECONDS) + 300)) \
		$(BUILD)/selftests/fuzz -t $(SECONDS) $(if $(SEED),-s $(SEED))

kunit: ## the kernel's own tests of what a sample looks like
	@$(MAKE) --no-print-directory kernel KERNEL=kunit
	@scripts/deps.sh vm
	@KERNEL=$(BUILD)/kernel-kunit scripts/kunit.sh

bench: perf ## what a record costs, beside plain perf, ftrace and LTTng, build/bench.json
	@scripts/deps.sh vm
	@scripts/bench.sh

bench-check: perf ## show that the recording path has not grown
	@scripts/deps.sh vm
	@scripts/bench.sh -c

bench-time: kernel perf ## the same by the clock, in guests of 4 CPUs
	@scripts/deps.sh vm
	@scripts/bench.sh -t

bench-scale: kernel perf ## create, list, open, read and delete among many; bytes that a namespace takes
	@scripts/deps.sh vm
	@scripts/bench-scale.sh

bench-snapshot: perf ## what a snapshot costs, and for how long it holds up who records
	@scripts/deps.sh vm
	@scripts/bench.sh -S

bench-idle: kernel perf ## show that a namespace wakes nobody and runs nothing
	@scripts/deps.sh vm
	@scripts/bench-idle.sh

bench-daemon: kernel perf ## what perf record --daemon loses and holds up while it writes a file
	@scripts/deps.sh vm
	@scripts/bench-daemon.sh

bench-read: kernel perf ## how fast full buffers are read, beside memcpy, ftrace and perf record
	@scripts/deps.sh vm
	@scripts/bench-read.sh

CONFIG ?= persistent
ROW ?= getppid
bench-profile: perf ## CONFIG=plain ROW=getppid: where the instructions go, by function
	@scripts/deps.sh vm
	@scripts/bench.sh -p $(CONFIG) $(ROW)

bench-figure: ## bench/figure.svg from build/bench.json
	@scripts/deps.sh figure
	@bench/figure.py build/bench.json bench/figure.svg

vm: kernel perf ## a shell in the guest
	@scripts/deps.sh vm
	@scripts/vm.sh -k $(KERNEL)

refresh: ## write the commits and edits of build/linux back to patches/ and the new files
	@scripts/refresh.sh

series: source ## complete patches for git am and a cover letter for each series, build/series
	@scripts/export.sh

.PHONY: diffstat check-series check-whole test-apply deb test-deb
diffstat: source ## how much of perf's own files in the kernel each commit and series changes
	@scripts/diffstat.sh $(SERIES)

check-series: source ## SERIES=1-fixes: check every commit by itself: builds, sparse, style; all take an hour
	@scripts/check-series.sh $(SERIES)

check-whole: source ## the same of what all commits together make of the base; two minutes
	@scripts/check-series.sh -l

# To the scripts LINUX is the tree that they work on, which this one is not.
ifeq ($(origin LINUX),command line)
unexport LINUX
export APPLY_TO := $(LINUX)
endif
apply: source ## LINUX=/path/to/linux: put all series on your own git tree, or those up to SERIES=2-cost
	@scripts/apply.sh "$$APPLY_TO" $(SERIES)

test-apply: source ## apply to vanilla and to Debian's source, build and test that
	@scripts/deps.sh orig kernel vm tests
	@scripts/test-apply.sh

test-vanilla: source ## compile kernel/events of vanilla Linux with the series
	@scripts/deps.sh orig kernel
	@scripts/test-apply.sh -c

deb: source ## CONFIG=/path: the kernel and perf as Debian packages, build/deb
	@scripts/deb.sh $(if $(filter command environment,$(word 1,$(origin CONFIG))),$(CONFIG))

test-deb: source ## the same with a small configuration, installed and booted in a guest
	@scripts/deps.sh vm
	@scripts/test-deb.sh

check: source ## check the scripts and the series
	@scripts/check.sh

check-fastpath: source ## show that the code which records a sample is not touched
	@scripts/deps.sh kernel
	@scripts/check-fastpath.sh build/linux configs/vm.config build/fastpath

check-size: source ## how large code is without and with the series; templates have not grown
	@scripts/deps.sh kernel
	@scripts/check-size.sh

check-builds: source ## build with other options and for other architectures
	@scripts/deps.sh kernel cross
	@scripts/check-builds.sh

docs: source ## build the manual pages and the kernel's documents, build/docs
	@scripts/docs.sh

picture: kernel perf ## make the picture in the kernel's documents anew, in build/linux
	@scripts/deps.sh vm
	@scripts/picture.sh

clean: ## remove build, unless edits in build/linux would be lost
	@scripts/clean.sh
