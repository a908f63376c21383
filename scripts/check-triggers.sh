#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Take snapshots while writers number their records, fire triggers as fast as possible, and
# measure the time from a trigger until all buffers are frozen.
#
# usage: check-triggers.sh
#
# Environment:
#   KERNEL          O= directory of the kernel (build/kernel)
#   SNAPSHOTS       the number of snapshots (1000)
#   TRIGGER_STORM   how often a trigger fires (1000000)
#   TRIGGER_DELAYS  how often the time is measured (200)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
export SNAPSHOTS=${SNAPSHOTS:-1000} TRIGGER_STORM=${TRIGGER_STORM:-1000000}
export TRIGGER_DELAYS=${TRIGGER_DELAYS:-200}

cd "$top"
# shellcheck disable=SC2016 # for the guest
scripts/vm.sh -k "${KERNEL:-build/kernel}" -s 4 -m 3072 -t 1800 sh -c '
	build/selftests/snapshot -t numbers || exit
	build/selftests/trigger -t storm -t delay' |
	grep -vE '^(TAP|1\.\.|# Starting|#  RUN|#            OK)'
