#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prepare LTTng for the guest of make bench, which compares with it: unpack Debian's
# packages, and build the kernel modules from their source. Only libraries that the tools
# need are installed.
#
# usage: lttng.sh DIR
#
# Writes to DIR: bin, lib, share, modules (for /lib/modules), and a file version with the
# versions of the packages. Fails if there is no such package, or if its modules do not
# compile for the kernel.
#
# Environment: LINUX and KERNEL, as for build.sh

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/apt-lib.sh
. "$top/scripts/apt-lib.sh"
src=$(realpath "${LINUX:-$top/build/linux}")
kernel=$(realpath "${KERNEL:-$top/build/kernel}")
mkdir -p "$1"
dir=$(realpath "$1")
tools='lttng-tools liblttng-ctl0 liblttng-ust-common1 liblttng-ust-ctl5 liburcu8'
# Of the probes for tracepoints, only the one of the scheduler is needed. The one of timers
# does not compile, as a tracepoint has changed in 6.12.y.
probes=(lttng-probe-sched lttng-kprobes lttng-kretprobes lttng-uprobes)
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

die()
{
	echo "lttng: $*" >&2
	exit 1
}

# The modules of Debian 12 are too old for this kernel, so fetch those of the next release.
fetch_modules()
{
	apt_private "$PWD/apt" trixie && apt-get -qq -c "$PWD/apt/apt.conf" update &&
		apt-get -qq -c "$PWD/apt/apt.conf" download lttng-modules-dkms && rm -rf apt
}

fetch()
{
	local deb

	rm -rf "$dir/fetch"
	mkdir -p "$dir/fetch/root"
	cd "$dir/fetch"
	# shellcheck disable=SC2086 # a list
	{ fetch_modules && apt-get -qq -o APT::Sandbox::User= download $tools; } >log 2>&1 ||
		{ tail -n 5 log >&2; die 'apt-get could not get the packages'; }
	for deb in *.deb; do
		dpkg -x "$deb" root
	done
	for deb in lttng-modules-dkms_*.deb lttng-tools_*.deb; do
		echo "$(dpkg-deb -f "$deb" Package) $(dpkg-deb -f "$deb" Version)"
	done >version
	cd "$dir"
	rm -rf bin lib share source
	mkdir lib
	mv fetch/root/usr/bin bin
	mv fetch/root/usr/lib/*/lttng/libexec/lttng-consumerd bin/
	mv fetch/root/usr/lib/*/*.so.* lib/
	mv fetch/root/usr/share/xml/lttng share
	mv fetch/root/usr/src/lttng-modules-* source
	mv fetch/version version
	rm -rf fetch
}

build()
{
	local release

	release=$(cat "$kernel/include/config/kernel.release")
	{
		printf 'obj-m += %s.o\n' "${probes[@]}"
		sed -n '/^TOP_LTTNG/p; /^include/p; /^ccflags/p' source/src/probes/Kbuild
	} >source/Kbuild.probes
	mv source/Kbuild.probes source/src/probes/Kbuild
	make -s -C "$src" O="$kernel" M="$dir/source/src" LOCALVERSION= CONFIG_LTTNG=m \
		-j"$(nproc)" modules >build.log 2>&1 ||
		{ tail -n 5 build.log >&2; die "its modules do not fit: $dir/build.log"; }
	rm -rf modules new
	mkdir -p "new/lib/modules/$release"
	find source -name '*.ko' -exec cp -t "new/lib/modules/$release" {} +
	touch "new/lib/modules/$release"/modules.{order,builtin,builtin.modinfo}
	depmod -b new "$release"
	mv new/lib/modules modules
	rm -r new
}

"$top/scripts/deps.sh" lttng
cd "$dir"
[ -e version ] || fetch
# Build again for another kernel.
[ modules -nt "$kernel/Module.symvers" ] || build
