#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Install the Debian packages that are missing.
#
# usage: deps.sh GROUP...
#
# A group is the packages that one of the build steps needs; see below.

set -eu

packages()
{
	case $1 in
	source) echo linux-source-6.12 git xz-utils make gcc ;;
	fetch) echo apt dpkg debian-archive-keyring git xz-utils make gcc ;;
	kernel | module) echo make gcc libc6-dev flex bison bc perl libelf-dev ccache ;;
	perf)
		echo make gcc g++ libc6-dev flex bison pkg-config ccache python3 \
			libtraceevent-dev libelf-dev libdw-dev libunwind-dev \
			libslang2-dev zlib1g-dev libzstd-dev liblzma-dev libssl-dev \
			libnuma-dev libcap-dev python3-dev python3-setuptools \
			systemtap-sdt-dev
		;;
	series) echo codespell patch sparse ;;
	deb) echo dpkg-dev debhelper rsync kmod cpio libssl-dev ;;
	config) echo linux-config-6.12 ;;
	orig) echo apt dpkg-dev ;;
	cross) echo gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf gcc-s390x-linux-gnu ;;
	arm64) echo gcc-aarch64-linux-gnu qemu-system-arm ;;
	s390) echo gcc-s390x-linux-gnu qemu-system-misc ;;
	vm) echo qemu-system-x86 iproute2 kmod ;;
	selftests | bench) echo make gcc libc6-dev gcc-i686-linux-gnu libc6-dev-i386-cross ;;
	tests) echo strace linux-perf ;;
	boot) echo busybox-static cpio python3 ;;
	demo) echo linux-perf ;;
	fleet) echo mosquitto mosquitto-clients python3 rsync ;;
	man) echo asciidoc xmlto docbook-xsl docbook-xml ;;
	btf) echo dwarves ;;
	docs)
		echo make gcc perl asciidoc xmlto docbook-xsl docbook-xml man-db \
			python3-sphinx python3-sphinx-rtd-theme graphviz
		;;
	lttng) echo apt dpkg kmod debian-archive-keyring libkmod2 libxml2 libpopt0 ;;
	figure) echo python3-matplotlib ;;
	gdb) echo gdb ;;
	check) echo shellcheck perl python3-ply python3-git ;;
	*)
		echo "deps.sh: no group '$1'" >&2
		exit 1
		;;
	esac
}

missing=
for group in "$@"; do
	for pkg in $(packages "$group"); do
		case " $missing " in
		*" $pkg "*) continue ;;
		esac
		if ! dpkg-query -W -f '${db:Status-Status}\n' "$pkg" 2>/dev/null |
		   grep -qx installed; then
			missing="$missing $pkg"
		fi
	done
done
[ -n "$missing" ] || exit 0

echo "deps: installing, needed for $*:$missing"
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # a list
if ! { $sudo apt-get -q update &&
       $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		--no-install-recommends install $missing; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	echo "deps: apt-get could not install:$missing" >&2
	exit 1
fi
