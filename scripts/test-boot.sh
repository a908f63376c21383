#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Test recorders without perf: in a user space with only busybox, from the kernel's command
# line (valid and invalid ones), and for machine checks.
#
# usage: test-boot.sh
#
# Environment:
#   KERNEL  O= directory of the kernel (build/kernel)
#
# The logs are in build/test-boot/. The last line is the summary.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
kernel=$(realpath "${KERNEL:-$top/build/kernel}")
logs=$top/build/test-boot
selftests=$top/build/linux/tools/testing/selftests/perf_events/persistent
export PATH=$top/build/perf:$PATH
mkdir -p "$logs"
passed=0 failed=0

result()
{
	if [ "$1" = 0 ]; then
		echo "ok $2"
		passed=$((passed + 1))
	else
		echo "FAILED: $2, logs: ${logs#"$top"/}"
		failed=$((failed + 1))
	fi
}

# guest NAME KERNEL_ARGS SCRIPT: run vm.sh with its own log, and with CPUS CPUs, or 4
guest()
{
	VM_LOG=$logs/$1.vm.log "$top/scripts/vm.sh" -k "$kernel" -s "${CPUS:-4}" -t 240 -a "$2" \
		bash -c "$3" >"$logs/$1.log" 2>&1
}

#
# Only busybox, and no disk
#

busybox()
{
	local root=$logs/root cpio=$logs/root.cpio

	rm -rf "$root"
	mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp} || return
	cp "$(type -P busybox)" "$root/bin/" || return
	cp "$selftests/fs.sh" "$root/" || return
	cat >"$root/init" <<-'EOF'
	#!/bin/busybox sh
	/bin/busybox --install -s
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs dev /dev
	sh /fs.sh >/tmp/tap 2>&1 </dev/null
	echo "exit status: $?" >>/tmp/tap
	# Not between what the kernel says
	sed 's/^/| /' /tmp/tap >/dev/console
	poweroff -f
	EOF
	chmod +x "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$cpio" || return

	timeout 240 qemu-system-x86_64 -nodefaults -display none -no-reboot -machine q35 \
		-accel tcg -cpu max -smp 2 -m 512 -kernel "$kernel/arch/x86/boot/bzImage" \
		-initrd "$cpio" -append 'console=ttyS0 no_timer_check panic=-1 oops=panic rdinit=/init' \
		-serial "file:$logs/busybox.vm.log" </dev/null || return
	tr -d '\r' <"$logs/busybox.vm.log" | sed -n 's/^| //p' >"$logs/busybox.log"
	grep '^not ok' "$logs/busybox.log"
	grep -q '^exit status: 0' "$logs/busybox.log" &&
		! grep -E 'WARNING:|BUG:|Oops' "$logs/busybox.vm.log"
}
busybox
result $? 'a user space of busybox alone'

#
# The command line
#

# The recorder has events of the boot itself, and of a CPU that comes online later.
# shellcheck disable=SC2016 # for the guest
guest line 'perf_persistent=boot:1M:sched:sched_switch;cpu-clock/freq=99,callchain/ initcall_debug maxcpus=2' '
	set -e
	perf record -o /tmp/boot.data -e persistent/boot/ sleep 0.1
	perf script -i /tmp/boot.data --reltime -F comm,event | sort | uniq -c | sort -n | tail
	first=$(perf script -i /tmp/boot.data -F time --ns 2>/dev/null | sort -n | head -n 1 | tr -d " :")
	# printk goes by the same clock.
	init=$(dmesg | sed -n "s/^\[ *\([0-9.]*\)\] calling  perf_event_sysfs_init.*/\1/p")
	echo "first record: $first, perf_event_sysfs_init: $init"
	awk -v a="$first" -v b="$init" "BEGIN { exit !(a > 0 && b > 0 && a < b) }"
	! [ -e /sys/devices/system/cpu/cpu2/online ] || echo 1 >/sys/devices/system/cpu/cpu2/online
	taskset -c 2 sh -c "for i in 1 2 3 4 5; do /bin/true; done"
	perf record -o /tmp/late.data -e persistent/boot/ sleep 0.1
	perf script -i /tmp/late.data -F cpu,event | grep -q "\[002\]"
	perf ctl -s boot
	perf ctl -d boot
	perf ctl -d boot.1'
result $? 'from the command line: older than the devices, and CPUs that come later'

# The kernel waits for a PMU that comes late or with a module.
# shellcheck disable=SC2016
guest missing 'perf_persistent=late:64K:cpu-clock;nosuch:event;sched:sched_switch perf_persistent=second:64K:breakpoint;page-faults' '
	set -e
	dmesg | grep "perf_persistent="
	perf ctl -l --json >/tmp/l
	grep -q "\"late\"" /tmp/l
	perf ctl -l late | tee /dev/stderr | grep -q sched_switch
	dmesg | grep -q "perf_persistent=late: .nosuch:event.: no such tracepoint"'
result $? 'from the command line: what is missing is said, and left out'

i=0
while read -r line; do
	i=$((i + 1))
	guest "wrong$i" "$line" 'dmesg | grep "perf: perf_persistent="'
	result $? "a wrong command line: $line"
done <<'EOF'
perf_persistent=
perf_persistent=:
perf_persistent=boot
perf_persistent=boot:1M
perf_persistent=boot:1M:
perf_persistent=Boot:1M:cpu-clock
perf_persistent=boot:1X:cpu-clock
perf_persistent=boot:9999999999G:cpu-clock
perf_persistent=boot:1M:cpu-clock/freq=/
perf_persistent=boot:1M:cpu-clock;;sched:sched_switch/callchain=1/
EOF

#
# Machine checks: the kernel would report a corrected error only when it polls. This test
# injects an error in memory that nobody has read yet, which is reported at once. On an
# AMD CPU, Linux takes it as fatal. On an Intel CPU, the error must go to all CPUs, so the
# guest has only one.
#

mce()
{
	local socket=$logs/monitor pid status

	rm -f "$socket" "$logs/mce.vm.log"
	# shellcheck disable=SC2016 # for the guest
	CPUS=1 VM_QEMU="-cpu max,vendor=GenuineIntel -monitor unix:$socket,server=on,wait=off" guest mce '' '
		echo ready >/dev/kmsg
		perf ctl -l mce_record || exit 1
		for i in $(seq 600); do
			perf record -o /tmp/mce.data -e persistent/mce_record/ sleep 0.1 2>/tmp/err || exit 1
			perf script -i /tmp/mce.data | tee /tmp/script | grep -q mce_record: && break
		done
		cat /tmp/script
		grep -q "mce:mce_record:.*MC9: bd000000000000c0" /tmp/script || exit 1
		perf top --stdio -e persistent/mce_record/ >/tmp/top 2>&1 </dev/null & top=$!
		for i in $(seq 300); do
			grep -q mce /tmp/top && break
			sleep 0.1
		done
		kill $top
		grep -q mce_record /tmp/top || { cat /tmp/top; exit 1; }' &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		if grep -q ready "$logs/mce.vm.log" 2>/dev/null; then
			python3 - "$socket" <<-'EOF'
			import socket, sys, time
			s = socket.socket(socket.AF_UNIX)
			s.connect(sys.argv[1])
			time.sleep(0.5)
			s.sendall(b"mce 0 9 0xbd000000000000c0 0x5 0x62000000 0x8c\n")
			time.sleep(1)
			print(s.recv(4096).decode(errors="replace"))
			EOF
			break
		fi
		sleep 0.5
	done
	wait $pid
	status=$?
	return $status
}
mce >"$logs/mce.monitor" 2>&1
result $? 'a machine check is recorded, nobody having run anything'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
