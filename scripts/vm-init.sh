#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Process 1 of the guest that vm.sh starts. Do not run it by hand.
#
# Its root is the host's, read-only; that of another architecture is its own, with this
# repository in /repository. The script mounts the file systems of vm-fstab, runs the command that
# vm.sh left in the shared directory, writes the exit status there, and ends the guest.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
top=${0%/scripts/*}
run=/run/vm

mount -t proc proc /proc
mount -a -T "$top/scripts/vm-fstab"
mkdir -p /run/home /run/lock
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
ln -sf pts/ptmx /dev/ptmx

# The caller's directory and the repository may lie below one of them.
mapfile -d '' -t dirs <$run/dirs
if [ "$top" = /repository ]; then
	mkdir -p "${dirs[1]}" && mount --bind /repository "${dirs[1]}" || exit
else
	for dir in "${dirs[@]}"; do
		case $dir/ in
		/tmp/*/ | /run/*/ | /var/tmp/*/ | /dev/*/)
			mkdir -p "$dir"
			mount --bind "/run/host$dir" "$dir"
			;;
		esac
	done
fi

ip link set lo up
echo vm >/proc/sys/kernel/hostname

# Take the caller's environment, except for variables that are wrong in the guest: the home
# directory is not writable, make's job server cannot be reached, and a root of its own does
# not have the caller's locale.
mapfile -d '' -t env <$run/env
for var in "${env[@]}"; do
	case $var in
	PATH=*) PATH=${var#*=}:$PATH ;;
	HOME=* | TMPDIR=* | MAKE*=* | MFLAGS=* | PWD=* | OLDPWD=* | BASH* | SHLVL=* | _=*) ;;
	LANG=* | LANGUAGE=* | LC_*) [ "$top" = /repository ] || export "${var?}" ;;
	*) export "${var?}" ;;
	esac
done
export PATH HOME=/run/home USER=root LOGNAME=root SHELL=/bin/bash

: >$run/started
mapfile -d '' -t argv <$run/argv
cd "${dirs[0]}" || exit

case $(cat $run/mode) in
terminal)
	read -r rows cols <$run/size
	stty rows "$rows" cols "$cols" </dev/hvc0
	setsid --ctty --wait "${argv[@]}" </dev/hvc0 >/dev/hvc0 2>&1
	status=$?
	;;
pipe)
	for port in /sys/class/virtio-ports/*; do
		declare "port_$(cat "$port/name")=/dev/${port##*/}"
	done
	# A port can be opened only once, but CMD may open its output again: give it a pipe.
	exec 3> >(exec setsid cat >"${port_out:?}")
	keep=$!
	exec 4> >(exec setsid cat >"${port_err:?}" 3>&-)
	keep="$keep $!"
	stdin=/dev/null
	[ ! -e $run/stdin ] || stdin=$run/stdin
	# A session of its own, so that it cannot signal those two.
	(exec setsid "${argv[@]}" <$stdin >&3 2>&4 3>&- 4>&-)
	status=$?
	exec 3>&- 4>&-
	;;
esac

# Kill all processes that may still hold the pipes open. Kernel threads have no exe.
for proc in /proc/[0-9]*; do
	pid=${proc#/proc/}
	case " 1 ${keep-} " in
	*" $pid "*) ;;
	*) [ ! -e "$proc/exe" ] || kill -9 "$pid" ;;
	esac
done 2>/dev/null
# shellcheck disable=SC2086
wait ${keep-}

if [ -e /sys/kernel/debug/kmemleak ]; then
	# Objects younger than five seconds are not reported.
	sleep 6
	# An object may be reported only by the second scan.
	echo scan >/sys/kernel/debug/kmemleak
	echo scan >/sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak >$run/kmemleak
fi
dmesg >$run/dmesg
echo "$status" >$run/status
echo b >/proc/sysrq-trigger
# Reached only if the kernel does not have this key.
reboot -ff
