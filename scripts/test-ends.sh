#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Test how recordings end: reboot and panic while buffers are written; an oops, a warning,
# a hung task and a soft lockup, each with a trigger for it; a module with a recorded event
# that is unloaded; and an unloaded module whose functions an unpatched perf can name.
#
# usage: test-ends.sh
#
# Environment:
#   KERNEL          O= directory of the kernel (build/kernel)
#   PERF_UNPATCHED  a perf that is not of this source (Debian's)

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
kernel=$(realpath "${KERNEL:-$top/build/kernel}")
logs=$top/build/test-ends
export PATH=$top/build/perf:$PATH
mkdir -p "$logs"
passed=0 failed=0

# Start recorders on all CPUs and a load for them to record. The command of ends() follows.
# shellcheck disable=SC2016 # for the guest
busy='
perf record -P ends -e cpu-clock -e sched:sched_switch -e page-faults -g -a -m 16 &&
perf record -P ends2 -e context-switches -c 1 -a || exit 1
for i in 1 2 3 4; do while :; do /bin/true; done & done
perf record -o /dev/null -e persistent/ends/ sleep 2 || exit 1
sync; echo "now: $0" >/dev/kmsg
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

# ends NAME TEXT COMMAND: check that the guest ends with TEXT in its log, and with no other
# complaint of the kernel.
ends()
{
	local status

	VM_LOG=$logs/$1.vm.log "$top/scripts/vm.sh" -k "$kernel" -s 4 -m 3072 -t 300 \
		bash -c "$busy$3" >"$logs/$1.log" 2>&1
	status=$?
	# Look in the kernel's log: output of the guest that is still on its way is lost.
	grep -q '\] now: ' "$logs/$1.vm.log" && [ $status = 125 ] &&
		grep -qF "$2" "$logs/$1.vm.log" &&
		! grep -E 'INFO: |possible .* locking|lockup|BUG: (sleeping|workqueue)|KASAN' \
			"$logs/$1.vm.log"
	result $? "$1"
}

ends reboot 'reboot: Restarting system' 'reboot -ff'
ends panic 'Kernel panic - not syncing: sysrq triggered crash' 'echo c >/proc/sysrq-trigger'

# The records before a panic are in the guest's memory, up to the last one. Keep the guest
# after the panic, write its memory to a file, and read the records with gdb. This kernel
# has no debug information, so types() compiles one file with it.
core=$logs/vmcore monitor=$logs/monitor
types()
{
	local file=$top/build/linux/kernel/events/persistent_trigger.c cmd

	cmd=$(sed -n 's/^savedcmd_.* := //p' "$kernel/kernel/events/.persistent_trigger.o.cmd")
	cmd=${cmd%% ; *}
	(cd "$kernel" && eval "${cmd%% -c -o *} -g -gdwarf-4 -c -o '$logs/types.o' '$file'")
}

# hmp COMMAND: send it to QEMU's monitor, and wait until it is done
hmp()
{
	python3 - "$monitor" "$1" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		out = b""
		while not out.endswith(b"(qemu) "):
		    out += s.recv(4096)
		s.sendall(sys.argv[2].encode() + b"\n")
		out = b""
		while not out.endswith(b"(qemu) "):
		    more = s.recv(4096)
		    if not more:
		        break
		    out += more
	END
}

# shellcheck disable=SC2016
dump()
{
	local guest

	rm -f "$core" "$monitor" "$logs/dump.vm.log"
	VM_QEMU="-monitor unix:$monitor,server=on,wait=off" VM_LOG=$logs/dump.vm.log \
		"$top/scripts/vm.sh" -k "$kernel" -s 4 -m 512 -t 300 -a 'panic=0 nokaslr' bash -exc '
		perf record -o /tmp/out/tracing.data -e sched:sched_switch -a true
		perf record -P flight -e sched:sched_switch -e dummy:u -a -m 16
		perf ctl -t flight --when panic --do stop
		perf ctl -l flight
		echo now:
		cp /bin/sleep /tmp/last-words
		/tmp/last-words 0
		echo c >/proc/sysrq-trigger' >"$logs/dump.log" 2>&1 &
	guest=$!
	# This is the last line of a panic.
	while ! grep -q -- '---\[ end Kernel panic' "$logs/dump.vm.log" 2>/dev/null &&
	      kill -0 $guest 2>/dev/null; do
		sleep 1
	done
	hmp "dump-guest-memory -p $core"
	hmp quit
	wait $guest
	gdb -q -batch -ex "add-symbol-file $logs/types.o 0" \
		-x "$top/build/linux/scripts/gdb/linux/perf_persistent.py" \
		-ex lx-perf-persistent -ex "lx-perf-persistent-save flight $logs/flight.data $top/build/out/tracing.data" \
		"$kernel/vmlinux" "$core" >"$logs/gdb.log" 2>&1
	perf script --show-task-events -i "$logs/flight.data" >"$logs/flight.txt" 2>&1
	perf report --stdio -i "$logs/flight.data" >"$logs/flight.report" 2>&1 &&
		grep -q 'PERF_RECORD_COMM exec: last-words' "$logs/flight.txt" &&
		grep -q 'sched:sched_switch' "$logs/flight.report"
}
"$top/scripts/deps.sh" gdb
# dump-guest-memory -p walks the page tables, and KASAN's shadow makes these huge.
if grep -qx CONFIG_KASAN=y "$kernel/.config"; then
	echo 'skipped dump: the kernel has KASAN'
else
	types && dump
	result $? dump
fi
rm -f "$core"

# Complaints of the kernel fire the triggers for them, and the kernel goes on. It reports a
# hung task again and again.
# shellcheck disable=SC2016
words()
{
	VM_LOG=$logs/words.vm.log "$top/scripts/vm.sh" -k "$kernel" -s 4 -m 3072 -t 300 bash -exc '
		insmod "$0"
		crash=/sys/kernel/debug/provoke-crash/DIRECT
		cd /proc/sys/kernel
		echo 0 >panic_on_oops
		echo 0 >panic_on_warn
		# Not less: in an emulated guest, other tasks may well wait for seconds.
		echo 10 >hung_task_timeout_secs
		say()
		{
			local i

			perf record -P "$1" -e sched:sched_switch -a -m 16
			perf ctl -t "$1" --when "$1" --do snapshot --after 10ms --times 1
			(echo "$2" >$crash) &
			for ((i = 0; i < 600; i++)); do
				! perf ctl -l "$1.1" || break
				sleep 0.1
			done
			perf record -e "persistent/$1.1/" -o /tmp/data
			perf script -i /tmp/data | grep -q sched_switch
			perf ctl -l "$1"
		}
		say hung-task HUNG_TASK
		echo 120 >hung_task_timeout_secs
		say warn WARNING
		# This must be last: after an oops the kernel does not look for hung tasks
		# any more.
		say oops EXCEPTION
		echo now:
		# Reboot at once: one task cannot be killed.
		reboot -ff' "$kernel/drivers/misc/lkdtm/lkdtm.ko" >"$logs/words.log" 2>&1
	# The log has these three complaints, and no other.
	grep -q '^now:' "$logs/words.log" &&
		[ "$(grep -c 'Oops: ' "$logs/words.vm.log")" = 1 ] &&
		[ "$(grep -c 'WARNING: ' "$logs/words.vm.log")" = 1 ] &&
		grep -q 'WARNING: .*lkdtm_WARNING' "$logs/words.vm.log" &&
		grep -q 'INFO: task bash:.* blocked for more than' "$logs/words.vm.log" &&
		! grep 'INFO: ' "$logs/words.vm.log" | grep -v 'INFO: task bash:' &&
		! grep 'BUG: ' "$logs/words.vm.log" | grep -v 'BUG: kernel NULL pointer' &&
		! grep -E 'lockup|DEBUG_LOCKS|refcount_t|UBSAN|ODEBUG|bad unlock' "$logs/words.vm.log"
}
words
result $? words

# A CPU that loops in the kernel stops the buffers. Files of perffs show the records while it
# still loops. perf itself may have to wait for RCU until that ends.
# shellcheck disable=SC2016
softlockup()
{
	VM_LOG=$logs/softlockup.vm.log "$top/scripts/vm.sh" -k "$kernel" -s 4 -m 3072 -t 300 bash -exc '
		insmod "$0"
		# A lockup is twice as long. In an emulated guest, CPUs may well stand for a few seconds.
		echo 6 >/proc/sys/kernel/watchdog_thresh
		perf record -P lockup -e sched:sched_switch -e sched:sched_process_exec -a -m 1M
		perf ctl trigger lockup --when softlockup --do stop
		taskset -c 3 bash -c "echo SOFTLOCKUP >/sys/kernel/debug/provoke-crash/DIRECT" &
		mountpoint -q /sys/kernel/perf || mount -t perffs perffs /sys/kernel/perf
		cd /sys/kernel/perf/lockup
		for ((i = 0; i < 600; i++)); do
			! grep "^state.*stopped" status || break
			sleep 0.1
		done
		grep "^state.*stopped" status
		cat text >/tmp/text
		# The last switch on the CPU is to the task that loops.
		grep sched_switch per_cpu/cpu3/text | tail -n 1 | grep -E "next_comm=(taskset|bash) "
		# Nothing was recorded after the stop.
		grep "filename=.*/cat " /tmp/text && exit 1
		echo now:
		reboot -ff' "$kernel/drivers/misc/lkdtm/lkdtm.ko" >"$logs/softlockup.log" 2>&1
	grep -q '^now:' "$logs/softlockup.log" &&
		grep -q 'BUG: soft lockup - CPU#3 stuck for' "$logs/softlockup.vm.log" &&
		! grep 'BUG: ' "$logs/softlockup.vm.log" | grep -v 'BUG: soft lockup - CPU#3' &&
		! grep -E 'WARNING: |Oops: |INFO: task' "$logs/softlockup.vm.log"
}
softlockup
result $? softlockup

# The module of a tracepoint cannot be unloaded while a namespace has the event. After
# that it can be, even if there are snapshots or readers.
module=$kernel/samples/trace_events/trace-events-sample.ko
# shellcheck disable=SC2016
VM_LOG=$logs/module.vm.log "$top/scripts/vm.sh" -k "$kernel" -m 3072 -t 120 bash -exc '
	insmod "$0"
	perf record -P mod -e sample-trace:foo_bar -a
	rmmod trace-events-sample && exit 1
	perf ctl -l mod
	perf record -e persistent/mod/ -a -o /tmp/p sleep 3
	perf script -i /tmp/p | grep -q foo_bar
	rmmod trace-events-sample && exit 1
	perf ctl -s mod
	perf record -e persistent/mod/ -a -o /tmp/q sleep 1000 &
	reader=$!
	until [ "$(ls -l /proc/$reader/fd | grep -c perf_event)" -ge "$(nproc)" ] &&
		grep -q perf_event /proc/$reader/maps; do
		sleep 0.1
	done
	perf ctl -d mod
	rmmod trace-events-sample
	grep sample-trace /sys/kernel/tracing/available_events && exit 1
	perf record -e persistent/mod.1/ -a -o /tmp/r 2>/tmp/said && exit 1
	grep "copy the file .data. of the" /tmp/said
	mountpoint -q /sys/kernel/perf || mount -t perffs perffs /sys/kernel/perf
	cat /sys/kernel/perf/mod.1/data >/tmp/r
	perf script -i /tmp/r | grep -q foo_bar
	kill -INT $reader
	wait $reader || true
	perf ctl -d mod.1
' "$module" >"$logs/module.log" 2>&1
result $? module

# An unpatched perf can name the functions of an unloaded module, once it has the file of
# the module: the kernel writes the build id to the stream.
# shellcheck disable=SC2016
symbols()
{
	VM_LOG=$logs/symbols.vm.log "$top/scripts/vm.sh" -k "$kernel" -m 3072 -t 120 bash -exc '
		export HOME=/tmp
		insmod "$0"
		mountpoint -q /sys/kernel/perf || mount -t perffs perffs /sys/kernel/perf
		cd /sys/kernel/perf
		mkdir mod
		echo kst_one:kst_first/callchain/ >mod/events
		echo 1 >mod/enabled
		echo 7 >/sys/module/kst_one/parameters/fire
		cat mod/data >/tmp/data
		rmdir mod
		rmmod kst_one
		functions()
		{
			"$1" script -i /tmp/data -F event,trace,ip,sym,dso >/tmp/functions
			cat /tmp/functions
		}
		functions "$1"
		grep "the first is 7, old" /tmp/functions
		grep -w set_fire /tmp/functions && exit 1
		"$1" buildid-cache -a "$0"
		functions "$1"
		grep -w set_fire /tmp/functions
	' "$kernel/test_modules/kst_one.ko" "$unpatched" >"$logs/symbols.log" 2>&1
}
unpatched=${PERF_UNPATCHED:-/usr/bin/perf}
if [ ! -x "$unpatched" ]; then
	echo "skipped symbols: there is no $unpatched"
else
	KERNEL=$kernel "$top/scripts/build.sh" module && symbols
	result $? symbols
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
