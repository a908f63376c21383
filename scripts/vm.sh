#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a command as root in a QEMU guest that shares this machine's files.
#
# usage: vm.sh [-s CPUS] [-m MIB] [-a 'kernel args'] [-t SECONDS]
#              [-k BUILD_DIR] [CMD [ARG...]]
#
#   -s  CPUs of the guest (2)
#   -m  its memory in MiB (2048)
#   -a  arguments to add to the kernel command line
#   -t  seconds after which the guest counts as hung (600)
#   -k  O= directory of the kernel to boot ($KERNEL, or build/kernel)
#
# With ARCH=arm64 or s390, the guest is emulated. Its root is build/ARCH/root, see
# sysroot.sh. Of the host, it sees only this repository, so the caller's directory has to
# be in there.
#
# On x86, the guest sees the host's files read-only, with a tmpfs on /tmp, /run and /var/tmp. It
# can write to build/out of this repository, which is /tmp/out there. CMD runs in the
# caller's directory with the caller's environment. Its output and exit status become
# those of vm.sh; its input is /dev/null. Processes that CMD leaves behind are killed.
# Without CMD, the guest runs a shell on the terminal, or a shell that executes the
# commands on stdin.
#
# Exit status: that of CMD; 124 if the time is over; 125 if the guest died or could not
# start, or if CMD succeeded but the kernel complained.
#
# Environment:
#   VM_LOG    the guest's console log (build/vm.log)
#   VM_ACCEL  kvm or tcg, instead of trying (the result is kept in build/accel); or
#             icount: tcg with one CPU at a time, where a nanosecond is an instruction,
#             to count instructions
#   VM_QEMU   more options for QEMU
#   VM_ALLOW  regular expression of complaints to ignore

set -eu

top=$(realpath "$(dirname "$0")/..")
build=$top/build
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"

usage()
{
	sed -n '5,12s/^# \{0,1\}//p' "$0" >&2
	exit 125
}

die()
{
	echo "vm.sh: $*" >&2
	exit 125
}

again=${VM_AGAIN-}
unset VM_AGAIN
call=("$@")
cpus=2 mem=2048 args='' limit='' kernel=${KERNEL:-$arch_build/kernel}
while getopts s:m:a:t:k:h opt; do
	case $opt in
	s) cpus=$OPTARG ;;
	m) mem=$OPTARG ;;
	a) args=$OPTARG ;;
	t) limit=$OPTARG ;;
	k) kernel=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))

image=$kernel/$arch_image
[ -e "$image" ] || die "no kernel at $image; run 'make kernel'"
mkdir -p "$build/out"

# A guest may start in KVM and then hang forever, so KVM counts as working only if a guest
# really ran a command. The result is kept until this machine boots again.
choose_accel()
{
	local boot answer accel=tcg

	if [ -n "$arch_name" ] || [ ! -r /dev/kvm ] || [ ! -w /dev/kvm ]; then
		echo tcg
		return
	fi
	boot=$(cat /proc/sys/kernel/random/boot_id)
	if [ -e "$build/accel" ] && read -r answer accel <"$build/accel" &&
	   [ "$answer" = "$boot" ]; then
		echo "$accel"
		return
	fi
	echo "vm.sh: trying whether a guest boots in KVM (10 s at most)" >&2
	accel=tcg
	if VM_ACCEL=kvm VM_LOG=$build/kvm.log \
	   "$0" -t 10 -s 1 -k "$kernel" true >/dev/null 2>&1; then
		accel=kvm
	fi
	echo "$boot $accel" >"$build/accel.$$"
	mv "$build/accel.$$" "$build/accel"
	echo "$accel"
}

accel=${VM_ACCEL:-$(choose_accel)}
case $accel in
kvm) accel_opt=kvm ;;
tcg) accel_opt=tcg,thread=multi ;;
icount) accel_opt=tcg,thread=single ;;
*) die "VM_ACCEL is '$accel', not kvm, tcg or icount" ;;
esac

# The host and the guest exchange data through files in this directory, as the kernel
# command line is too short.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vm.XXXXXX")
log=${VM_LOG:-$build/vm.log}
own_log=$log.$$
qemu_pid='' clock_pid=''

# shellcheck disable=SC2317 # called by trap
cleanup()
{
	[ -z "$qemu_pid" ] || kill -9 "$qemu_pid" 2>/dev/null || :
	[ -z "$clock_pid" ] || kill "$clock_pid" 2>/dev/null || :
	rm -rf "$tmp" "$own_log"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Guests that run at the same time must not write to the same log.
: >"$own_log"
ln -f "$own_log" "$log"

mode=pipe
if [ $# -eq 0 ]; then
	if [ -t 0 ] && [ -t 1 ]; then
		mode=terminal
		stty size >"$tmp/size"
		limit=${limit:-infinity}
		set -- /bin/bash -i
	else
		cat >"$tmp/stdin"
		set -- /bin/sh
	fi
fi
echo "$mode" >"$tmp/mode"
printf '%s\0' "$@" >"$tmp/argv"
cwd=$(pwd -P)
printf '%s\0' "$cwd" "$top" >"$tmp/dirs"
env -0 >"$tmp/env"

# "ro" and a read-only share: nothing in the guest can harm the host.
share=security_model=none,readonly=on,multidevs=remap
mount=trans=virtio,version=9p2000.L,msize=512000,cache=loose
append="ignore_loglevel oops=panic panic=-1 root=root ro rootfstype=9p rootflags=$mount"
case $arch_name in
arm64)
	# The architecture's own algorithm for signing pointers is slow to emulate.
	machine=(qemu-system-aarch64 -machine "virt,gic-version=3" -cpu "max,pauth-impdef=on")
	append+=' console=ttyAMA0'
	;;
s390)
	machine=(qemu-system-s390x -machine s390-ccw-virtio -cpu max)
	append+=' console=ttysclp0'
	;;
*)
	machine=(qemu-system-x86_64 -machine q35 -cpu max)
	# A vCPU that waits for its turn would make the watchdog mark the TSC unstable. With the
	# clock source that the kernel uses then, a guest was seen to hang forever. A kernel that
	# tests whether the timer interrupts it counts how often that happens in a time that such
	# a vCPU does not get, and panics ("IO-APIC + timer doesn't work").
	append+=' console=ttyS0 tsc=reliable no_timer_check'
	;;
esac
if [ -n "$arch_name" ]; then
	[ -e "$sysroot/.stamp" ] || die "no root at $sysroot; run 'make ARCH=$arch_name selftests'"
	[[ $cwd/ = "$top"/* ]] || die "with ARCH, run it in $top or below"
	# The root is read-only in the guest.
	mkdir -p "$sysroot$top"
	machine+=(-virtfs "local,path=$sysroot,mount_tag=root,$share"
		  -virtfs "local,path=$top,mount_tag=top,$share")
	append+=" $args init=/bin/bash -- -c \"/bin/mount -t 9p -o ro,$mount top /repository"
	append+=" && exec /repository/scripts/vm-init.sh\""
else
	machine+=(-virtfs "local,path=/,mount_tag=root,$share")
	append+=" init=$top/scripts/vm-init.sh $args"
fi

qemu=(
	"${machine[@]}" -nodefaults -display none -no-reboot
	-accel "$accel_opt" -smp "$cpus" -m "$mem"
	-kernel "$image"
	-append "$append"
	-virtfs "local,path=$tmp,mount_tag=run,security_model=none"
	-virtfs "local,path=$build/out,mount_tag=out,security_model=none"
	-serial "file:$own_log"
	-device virtio-serial
)

[ "$accel" != icount ] || qemu+=(-icount "shift=0,sleep=off")
# shellcheck disable=SC2206 # a list
[ -z "${VM_QEMU-}" ] || qemu+=($VM_QEMU)

# QEMU and the clock must not outlive this script, even if it is killed.
if [ $mode = terminal ]; then
	qemu+=(-chardev "stdio,id=tty,signal=off" -device "virtconsole,chardev=tty")
	setpriv --pdeathsig KILL "${qemu[@]}" <&0 &
	qemu_pid=$!
else
	# Use pipes: QEMU cannot open everything that stdout may be.
	exec {out}> >(exec cat)
	out_pid=$!
	exec {err}> >(exec cat >&2)
	err_pid=$!
	qemu+=(
		-chardev "file,id=out,path=/dev/fd/$out"
		-device "virtserialport,chardev=out,name=out"
		-chardev "file,id=err,path=/dev/fd/$err"
		-device "virtserialport,chardev=err,name=err"
	)
	setpriv --pdeathsig KILL "${qemu[@]}" </dev/null >"$tmp/qemu" 2>&1 &
	qemu_pid=$!
	exec {out}>&- {err}>&-
fi
setpriv --pdeathsig KILL sleep "${limit:-600}" </dev/null >/dev/null 2>&1 &
clock_pid=$!

# Poll instead of "wait -n": on a busy machine, bash can miss the end of a process, and would
# wait until the time is up.
while kill -0 "$qemu_pid" 2>/dev/null && kill -0 "$clock_pid" 2>/dev/null; do
	sleep 0.1
done
hung=0 qemu_status=0
if kill -0 "$qemu_pid" 2>/dev/null; then
	hung=1
	kill -9 "$qemu_pid"
	wait "$qemu_pid" 2>/dev/null || :
	clock_pid=''
else
	wait "$qemu_pid" 2>/dev/null || qemu_status=$?
fi
qemu_pid=''
# The same with process substitutions
[ $mode = terminal ] || while kill -0 "$out_pid" 2>/dev/null || kill -0 "$err_pid" 2>/dev/null; do
	sleep 0.05
done

# The end of the kernel's log may be missing on the serial line.
tr -d '\r' <"$own_log" >"$tmp/console"
if [ -s "$tmp/dmesg" ] && grep -vxFf "$tmp/console" "$tmp/dmesg" >"$tmp/rest"; then
	{ echo "--- only in dmesg:"; cat "$tmp/rest"; } | tee -a "$own_log" >>"$tmp/console"
fi
if [ -s "$tmp/kmemleak" ]; then
	tee -a "$own_log" <"$tmp/kmemleak" >>"$tmp/console"
fi

splat='WARNING:|BUG:|BUG .*ainted|kernel BUG|KASAN|KCSAN|UBSAN|Oops'
splat+='|general protection fault|Unable to handle kernel|Kernel panic|refcount_t:|ODEBUG:'
splat+='|possible (recursive|circular) locking|INFO: .*(lock|stall|blocked)'
splat+='|rcu.*stall|hung_task:|unreferenced object|DEBUG_LOCKS_WARN'
splat+='|cannot create duplicate filename|kobject_add_internal failed'

complained=0
if grep -E "$splat" "$tmp/console" | grep -vE "${VM_ALLOW:-^\$}" >"$tmp/splats"; then
	complained=1
	echo "vm.sh: from the guest's kernel (all of it in $log):" >&2
	head -n 20 "$tmp/splats" | sed 's/^/    /' >&2
fi

if [ $hung = 1 ]; then
	echo "vm.sh: no end after $limit s, the guest was killed; its log: $log" >&2
	exit 124
fi
if [ ! -s "$tmp/status" ]; then
	[ ! -s "$tmp/qemu" ] || cat "$tmp/qemu" >&2
	# QEMU 7.2 was seen to crash while the guest's CPUs set up PCI, before a first process.
	# The guest cannot do that to it: a panic ends QEMU with status 0.
	if [ "$qemu_status" -gt 128 ] && [ ! -e "$tmp/started" ] && [ -z "$again" ] &&
	   [ $complained = 0 ] && [ $mode = pipe ] && [ ! -e "$tmp/stdin" ]; then
		echo "vm.sh: QEMU crashed before the guest's first process; trying once more" >&2
		cleanup
		VM_AGAIN=1 exec "$0" "${call[@]}"
	fi
	die "the guest died before the command ended; its log: $log"
fi
read -r status <"$tmp/status"
if [ "$status" -eq 0 ] && [ $complained = 1 ]; then
	exit 125
fi
exit "$status"
