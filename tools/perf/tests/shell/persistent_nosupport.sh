#!/bin/bash
# perf record -P and perf ctl say that the kernel has no persistent events
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

[ ! -e "$persistent_pmu/type" ] || skip "the kernel has persistent events"

text="it has no PMU called 'persistent'"

refuse "create" "$text" perf record -P "$ns" -e cpu-clock -a
refuse "read" "$text" perf record -e "persistent/$ns/" -o "$data"
refuse "list" "$text" perf ctl -l
refuse "delete" "$text" perf ctl -d "$ns"
check "perf record goes on as ever" perf record -e cpu-clock -o "$data" true
exit "$failed"
