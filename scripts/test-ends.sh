#!/bin/bash
# How it ends: reboot, panic, and a module that is to be unloaded, each with
# buffers that are being written to.
#
# usage: test-ends.sh
#
# Environment:
#   KERNEL  O= directory of the kernel (build/kernel)

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
kernel=$(realpath "${KERNEL:-$top/build/kernel}")
logs=$top/build/test-ends
export PATH=$top/build/perf:$PATH
mkdir -p "$logs"
passed=0 failed=0

# Recorders on all CPUs, and something for them to record; then $1.
# shellcheck disable=SC2016 # for the guest
busy='
perf record -P ends -e cpu-clock -e sched:sched_switch -e page-faults -g -a -m 16 &&
perf record -P ends2 -e context-switches -c 1 -a || exit 1
for i in 1 2 3 4; do while :; do /bin/true; done & done
perf record -o /dev/null -e persistent/ends/ sleep 2 || exit 1
sync; echo "now: $0"
'

result()
{
	if [ "$1" = 0 ]; then
		echo "ok $2"
		passed=$((passed + 1))
	else
		echo "FAILED: $2, log: ${logs#"$top"/}"
		failed=$((failed + 1))
	fi
}

# ends NAME TEXT COMMAND: the guest ends with that text in its log, and with no
# complaint but the one that it was asked for.
ends()
{
	local status

	VM_LOG=$logs/$1.vm.log "$top/scripts/vm.sh" -k "$kernel" -s 4 -m 3072 -t 300 \
		bash -c "$busy$3" >"$logs/$1.log" 2>&1
	status=$?
	grep -q '^now:' "$logs/$1.log" && [ $status = 125 ] &&
		grep -qF "$2" "$logs/$1.vm.log" &&
		! grep -E 'INFO: |possible .* locking|lockup|BUG: (sleeping|workqueue)|KASAN' \
			"$logs/$1.vm.log"
	result $? "$1"
}

ends reboot 'reboot: Restarting system' 'reboot -ff'
ends panic 'Kernel panic - not syncing: sysrq triggered crash' 'echo c >/proc/sysrq-trigger'

# The module of a tracepoint stays as long as a namespace has the event.
module=$kernel/samples/trace_events/trace-events-sample.ko
# shellcheck disable=SC2016
VM_LOG=$logs/module.vm.log "$top/scripts/vm.sh" -k "$kernel" -m 3072 -t 120 bash -exc '
	insmod "$0"
	perf record -P mod -e sample-trace:foo_bar -a
	! rmmod trace-events-sample
	perf ctl -l mod
	perf record -e persistent/mod/ -a -o /tmp/p sleep 3
	perf script -i /tmp/p | grep -q foo_bar
	! rmmod trace-events-sample
	perf ctl -d mod
	rmmod trace-events-sample
	! grep sample-trace /sys/kernel/tracing/available_events
' "$module" >"$logs/module.log" 2>&1
result $? module

echo "$passed passed, $failed failed"
[ $failed = 0 ]
