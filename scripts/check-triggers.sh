#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Snapshots while writers number their records, and triggers that fire as fast as
# they can; and how long it takes from there until all buffers are frozen.
#
# usage: check-triggers.sh
#
# Environment:
#   KERNEL          O= directory of the kernel (build/kernel)
#   SNAPSHOTS       how many are taken (1000)
#   TRIGGER_STORM   how often a trigger fires (1000000)
#   TRIGGER_DELAYS  how often the time is taken (200)

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
