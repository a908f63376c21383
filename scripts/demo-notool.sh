#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A flight recorder on a machine without perf and without a disk: its user space is
# busybox and one program. The records are read on this machine, by an unpatched perf.
# Every step is a command as a user types it, and is checked.
#
# usage: demo-notool.sh
#
# Environment:
#   KERNEL  O= directory of the kernel (build/kernel-boot)
#   PERF    the perf that reads the records (Debian's)

set -eu

top=$(realpath "$(dirname "$0")/..")
kernel=$(realpath "${KERNEL:-$top/build/kernel-boot}")
perf=${PERF:-/usr/bin/perf}
dir=$top/build/demo-notool
large=$dir/large root=$dir/root
. "$top/scripts/demo-lib.sh"

rm -rf "$dir"
mkdir -p "$large" "$root"/{bin,dev,proc,sys,tmp,large}

# A program that spends a part of its time in the kernel
cat >"$dir/marked.c" <<'EOT'
#include <fcntl.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) void count_stars(void)
{
	for (unsigned long i = 0; i < 20000000; i++)
		sum += i;
}

int main(void)
{
	static char buf[1 << 20];
	int fd = open("/dev/urandom", O_RDONLY);

	count_stars();
	return read(fd, buf, sizeof(buf)) != sizeof(buf);
}
EOT
gcc -O1 -g -static -fno-omit-frame-pointer -o "$root/bin/marked" "$dir/marked.c"
cp "$(type -P busybox)" "$root/bin/"

cat >"$root/init" <<'EOT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev

# Not between what the kernel says
run()
{
	echo "$ $*" | sed 's/^/| /' >/dev/console
	eval "$*" >/tmp/out 2>&1
	echo "status $?" >>/tmp/status
	sed 's/^/| /' /tmp/out >/dev/console
}

run mount -t perffs perffs /sys/kernel/perf
cd /sys/kernel/perf
run ls
run mkdir flight
run "echo 'cpu-clock/freq=199,callchain/' > flight/events"
run "echo 'sched:sched_process_exec if filename ~ \"*/marked\"' >> flight/events"
run "echo 1M > flight/buffer_size"
run "echo 1 > flight/enabled"
run "for i in 1 2 3 4 5 6 7; do /bin/marked; done"
run "echo 1 > flight/snapshot"
run "grep -m 1 -A 3 'marked-.*cpu-clock.*+0x' flight.1/text"
run "mount -t 9p -o trans=virtio,version=9p2000.L large /large"
run "cat flight.1/data > /large/flight.data"
run "cat boot/data > /large/boot.data"
run "cat /proc/kallsyms > /large/kallsyms"
run "rmdir flight.1 flight boot"
cp /tmp/status /large/
poweroff -f
EOT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$dir/root.cpio"

echo '# A machine without perf; it has recorded what was executed since it booted:'
timeout 300 qemu-system-x86_64 -nodefaults -display none -no-reboot -machine q35 \
	-accel tcg -cpu max -smp 2 -m 512 -kernel "$kernel/arch/x86/boot/bzImage" \
	-initrd "$dir/root.cpio" -serial "file:$dir/vm.log" \
	-virtfs "local,path=$large,mount_tag=large,security_model=none" \
	-append 'console=ttyS0 no_timer_check panic=-1 oops=panic rdinit=/init perf_persistent=boot:256K:sched:sched_process_exec' \
	</dev/null || fail "the guest did not end by itself, see $dir/vm.log"
out=$(tr -d '\r' <"$dir/vm.log" | sed -n 's/^| //p')
printf '%s\n' "$out"
if grep -E 'WARNING:|BUG:|Oops' "$dir/vm.log"; then
	fail "the kernel complains, see $dir/vm.log"
fi
[ "$(sort "$large/status" | uniq -c | tr -s ' ')" = " 15 status 0" ] ||
	fail "a command failed, see $dir/vm.log"
shows '^ +marked-[0-9]+ .* cpu-clock: period='
shows '^ => .*\+0x'

echo
echo "# This machine, with perf $("$perf" --version | sed 's/.* //'):"
cd "$dir"
run "$perf script -i large/flight.data -F comm,tid,time,event,trace 2>/dev/null | grep sched_process_exec"
shows 'sched:sched_process_exec: filename=/bin/marked pid='
[ "$(wc -l <<<"$out")" = 7 ] || fail 'expected seven runs of the program, and no other'
run "$perf script -i large/boot.data -F time,event,trace 2>/dev/null | head -n 4"
shows 'sched_process_exec: filename=/init'
run "$perf report -i large/flight.data --stdio --no-children -g none --comms marked \
--symfs root --kallsyms large/kallsyms --sort sym 2>/dev/null | grep -v '^#' | grep . | head"
shows '\[\.\] count_stars'
shows '\[k\] [a-z_]*chacha'
echo
echo 'demo-notool: ok'
