#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build what the guest runs. Does nothing if no source has changed.
#
# usage: build.sh kernel|perf|selftests|bench|module
#
# Environment, for kernels other than the default:
#   LINUX    source tree (build/linux)
#   KERNEL   O= directory of the kernel (build/kernel)
#   PERF     O= directory of perf (build/perf)
#   BASE     which base, see base-lib.sh; the defaults are then in build/BASE
#   ARCH     arm64 or s390, to compile for it; the defaults are then in build/ARCH
#   CONFIGS  config fragments, the last one wins (configs/vm.config)

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
src=$(realpath "${LINUX:-$base_build/linux}")
kernel=$(realpath -m "${KERNEL:-$arch_build/kernel}")
perf=$(realpath -m "${PERF:-$base_perf}")
selftests=$arch_build/selftests
bench=$arch_build/bench
dir=$src/tools/testing/selftests/perf_events/persistent
jobs=-j$(nproc)
# Options of the make that called this script are not for the other makefiles.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

"$top/scripts/deps.sh" "$1"

hostcc=gcc
if command -v ccache >/dev/null; then
	hostcc='ccache gcc'
fi
cc=$hostcc
if [ -n "$arch_name" ]; then
	"$top/scripts/deps.sh" "$arch_name"
	"$top/scripts/sysroot.sh"
	export ARCH CROSS_COMPILE=$arch_gnu-
	cc=${hostcc/gcc/${CROSS_COMPILE}gcc}
fi
# The programs for another architecture need its libraries, and are built again for new ones.
user_cc=$cc${sysroot:+ --sysroot=$sysroot}
libraries=${sysroot:+$sysroot/.stamp}

# build OUT CHECK COMMAND...: run COMMAND if any file that the find expression CHECK
# selects is newer than the last build. make alone would need ten seconds to find that out.
build()
{
	local out=$1 newer
	local -a check

	mapfile -t check < <(xargs -n1 <<<"$2")
	shift 2
	mkdir -p "$out"
	exec 8>"$out/.lock"
	flock 8
	if [ -e "$out/.built" ]; then
		newer=$(find "${check[@]}" -newer "$out/.built" -print -quit)
		[ -n "$newer" ] || return 0
	fi
	# Take the time at the start, so that files that are edited meanwhile are newer.
	touch "$out/.building"
	echo "build: ${out#"$top"/}"
	"$@" 8>&-
	mv "$out/.building" "$out/.built"
}

make_kernel()
{
	make -s -C "$src" O="$kernel" CC="$cc" HOSTCC="$hostcc" LOCALVERSION= \
		"$jobs" "${arch_image##*/}" vmlinux modules
	make -s -C "$src" O="$kernel" headers
}

# Build perf without parts that need special packages or take long to build.
make_perf()
{
	local -a without=(BUILD_BPF_SKEL=0 NO_LIBLLVM=1 NO_RUST=1 NO_SHELLCHECK=1)

	if [ -n "$arch_name" ]; then
		# perf would find this machine's Python.
		without+=(NO_LIBPYTHON=1 NO_LIBPERL=1)
		export PKG_CONFIG_SYSROOT_DIR=$sysroot
		export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$arch_gnu/pkgconfig:$sysroot/usr/share/pkgconfig
	fi
	make -s -C "$src/tools/perf" O="$perf" CC="$user_cc" HOSTCC="$hostcc" "$jobs" \
		"${without[@]}" >"$perf/build.log" 2>&1 ||
		{ tail -n 40 "$perf/build.log" >&2; return 1; }
}

# -B: the rules of the selftests do not depend on the kernel's headers. The test modules
# are built for each kernel, see make_module().
make_selftests()
{
	make -s -B -C "$dir" OUTPUT="$selftests" CC="$user_cc" TEST_GEN_MODS_DIR= \
		KHDR_INCLUDES="-isystem $kernel/usr/include"
	make -s -B -C "$dir/.." OUTPUT="$selftests" CC="$user_cc" \
		KHDR_INCLUDES="-isystem $kernel/usr/include" \
		"$selftests/tracepoint" "$selftests/nested" "$selftests/paths"
	make -s -C "$dir" OUTPUT="$selftests" TEST_GEN_MODS_DIR= \
		COLLECTION=persistent emit_tests |
		sed -n 's/^persistent://p' >"$selftests/list"
}

# Each program is one file. "make test" builds them, too, so that they keep up with the ABI.
make_bench()
{
	local file

	for file in "$top"/bench/*.c; do
		gcc -O2 -Wall -Werror -fno-omit-frame-pointer -fno-optimize-sibling-calls \
			-isystem "$kernel/usr/include" -o "$bench/$(basename "$file" .c)" "$file"
	done
}

make_module()
{
	cp "$dir"/test_modules/{Makefile,*.[ch]} "$kernel/test_modules/"
	make -s -C "$src" O="$kernel" CC="$cc" M="$kernel/test_modules" modules
}

case ${1-} in
kernel)
	configs=${CONFIGS:-$top/configs/vm.config}
	# Options that have another name in this base come after the first fragment, which
	# is for all kernels.
	[ -z "$base_name" ] || configs="${configs%% *} $base_dir/config${configs#"${configs%% *}"}"
	# shellcheck disable=SC2086 # a list
	"$top/scripts/config.sh" "$src" "$kernel" $configs
	build "$kernel" "$kernel/.config $src -type d ( -path $src/.git -o
		-path $src/Documentation -o -path $src/tools/perf -o
		-path $src/tools/testing ) -prune -o -not -path $src/.git" make_kernel
	;;
perf)
	if [ -z "${PERF-}" ] && [ "$base_perf" != "$arch_build/perf" ]; then
		export BASE=''
		unset LINUX KERNEL CONFIGS
		"$top/scripts/source.sh"
		exec "$0" perf
	fi
	build "$perf" "$libraries $src/tools -path $src/tools/testing -prune -o" make_perf
	;;
selftests)
	if [ ! -e "$dir/Makefile" ]; then
		echo "build: there are no tests in $dir" >&2
		exit 1
	fi
	build "$selftests" "$libraries $dir $dir/../tracepoint.c $dir/../nested.c $dir/../paths.c $dir/../busy.h $dir/../tracing.h $src/tools/testing/selftests/lib.mk
		$src/tools/testing/selftests/kselftest_harness.h
		$kernel/usr/include/linux/perf_event.h" make_selftests
	# Some benchmarks read the cycle counter of x86.
	[ -n "$arch_name" ] || "$0" bench
	"$0" module
	;;
bench)
	build "$bench" "$top/bench $kernel/usr/include/linux/perf_event.h -name *.[ch]" make_bench
	;;
module)
	build "$kernel/test_modules" "$dir/test_modules $kernel/Module.symvers" make_module
	;;
*)
	sed -n '5s/^# //p' "$0" >&2
	exit 1
	;;
esac
