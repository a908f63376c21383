#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the kernel with configurations and for architectures that are not tested in a
# guest, and compare the warnings with those of the unpatched base.
#
# usage: check-builds.sh [NAME...]
#
# Fails if a configuration does not build, or gives a warning that the base does not give.
# The results are in build/builds/.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
linux=$top/build/linux
base=$top/build/linux-base
out=$top/build/builds
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
cc=gcc
! command -v ccache >/dev/null || cc='ccache gcc'

# NAME ARCH PREFIX OPTION...: on top of configs/build.config
builds='
smp	x86_64	-			CONFIG_SMP=y
up	x86_64	-
nosysfs	x86_64	-			CONFIG_SMP=y CONFIG_SYSFS=n
noproc	x86_64	-			CONFIG_SMP=y CONFIG_SYSCTL=n CONFIG_PROC_FS=n CONFIG_CGROUPS=n
notrace	x86_64	-			CONFIG_SMP=y CONFIG_FTRACE=n CONFIG_KPROBES=n CONFIG_BPF_SYSCALL=y
bare	x86_64	-			CONFIG_SMP=y CONFIG_FTRACE=n CONFIG_KPROBES=n CONFIG_BPF_SYSCALL=n CONFIG_SECURITY=n
off	x86_64	-			CONFIG_SMP=y CONFIG_PERF_EVENTS_PERSISTENT=n
i386	i386	-			CONFIG_SMP=y
arm64	arm64	aarch64-linux-gnu-	CONFIG_SMP=y
s390	s390	s390x-linux-gnu-
arm	arm	arm-linux-gnueabihf-	CONFIG_MMU=y CONFIG_ARCH_MULTI_V7=y CONFIG_SMP=y CONFIG_HW_PERF_EVENTS=y
'

# build NAME SOURCE ARCH PREFIX OPTION...
build()
{
	local name=$1 src=$2 arch=$3 prefix=$4 dir=$out/$1 opt
	shift 4
	local -a make=(make -s -C "$src" O="$dir" ARCH="$arch" LOCALVERSION= "-j$(nproc)")

	[ "$prefix" = - ] || make+=(CROSS_COMPILE="$prefix")
	make+=(CC="${cc/gcc/${prefix#-}gcc}" HOSTCC="$cc")
	mkdir -p "$dir"
	{
		"${make[@]}" tinyconfig &&
		cp "$top/configs/build.config" "$dir.config" &&
		for opt; do echo "$opt"; done | sed 's/^\(.*\)=n$/# \1 is not set/' >>"$dir.config" &&
		"$src/scripts/kconfig/merge_config.sh" -m -O "$dir" "$dir/.config" "$dir.config" &&
		"${make[@]}" olddefconfig
	} >"$dir.log" 2>&1 || return
	for opt; do
		case $opt in
		*=n) ! grep -q "^${opt%=n}=" "$dir/.config" ;;
		*) grep -qx "$opt" "$dir/.config" ;;
		esac || { echo "  $opt did not get into .config" >&2; return 1; }
	done
	"${make[@]}" vmlinux >"$dir.log" 2>&1
}

# warnings LOG: the warnings in it, without line numbers and directories, which differ
warnings()
{
	grep -E 'warning:|error:|WARNING:' "$1" |
		sed -E -e 's/^[^ ]*\/([a-z]+\/[^ :]+):[0-9]+(:[0-9]+)?:/\1:/' | sort -u
}

mkdir -p "$out"
if [ ! -e "$base/Makefile" ]; then
	git -C "$linux" worktree prune
	git -C "$linux" worktree add -f -q --detach "$base" base || exit
fi

failed=0
while read -r name arch prefix opts; do
	[ -n "$name" ] || continue
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	start=$SECONDS
	result=ok
	# shellcheck disable=SC2086 # a list
	if ! build "$name" "$linux" "$arch" "$prefix" $opts; then
		result="FAILED, see ${out#"$top"/}/$name.log"
	elif [ "$name" != off ] && ! grep -q '^CONFIG_PERF_EVENTS_PERSISTENT=y' "$out/$name/.config"; then
		result='FAILED, not configured'
	else
		warnings "$out/$name.log" >"$out/$name.warnings"
		if [ -s "$out/$name.warnings" ]; then
			# shellcheck disable=SC2086 # a list
			build "$name-base" "$base" "$arch" "$prefix" $opts \
				CONFIG_PERF_EVENTS=y || result='FAILED on the base'
			warnings "$out/$name-base.log" >"$out/$name-base.warnings"
			if comm -23 "$out/$name.warnings" "$out/$name-base.warnings" | grep .; then
				result='FAILED, new warnings'
			fi
		fi
	fi
	printf '%-8s %-7s %-24s %4d s\n' "$name" "$arch" "$result" $((SECONDS - start))
	[ "$result" = ok ] || failed=1
done <<<"$builds"
exit $failed
