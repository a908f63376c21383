#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unpack Debian's packages for another architecture: the root of its guest, and the
# libraries that perf and the tests are compiled with. Does nothing if they are there.
#
# usage: ARCH=arm64|s390 sysroot.sh
#
# Writes to build/ARCH/root. Nothing is installed, and the system's package lists do not
# change, see apt-lib.sh. No script of a package runs.

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
# shellcheck source=scripts/apt-lib.sh
. "$top/scripts/apt-lib.sh"

[ -n "$arch_name" ] || { echo 'usage: ARCH=arm64|s390 sysroot.sh' >&2; exit 1; }
# What the guest runs; what the demo compiles with; what perf and the tests are linked with.
packages='base-files base-passwd bash bsdutils coreutils dash debianutils diffutils e2fsprogs
	findutils grep gzip hostname iproute2 kmod libc-bin linux-perf login mawk mount passwd
	procps python3 sed strace tar util-linux util-linux-extra xz-utils
	gcc make
	libc6-dev libcap-dev libdw-dev libelf-dev liblzma-dev libnuma-dev libslang2-dev
	libssl-dev libtraceevent-dev libunwind-dev libzstd-dev systemtap-sdt-dev zlib1g-dev'
suite=bookworm
dir=${sysroot%/*}
stamp=$(sha256sum <"$0")

die()
{
	echo "sysroot: $*" >&2
	exit 1
}

mkdir -p "$dir"
exec 9>"$dir/.sysroot.lock"
flock 9
[ "$(cat "$sysroot/.stamp" 2>/dev/null)" != "$stamp" ] || exit 0

"$top/scripts/deps.sh" fetch
echo "sysroot: $suite for $arch_name into ${sysroot#"$top"/}"
# If this is interrupted, there is no stamp, and the next run begins again.
rm -f "$sysroot/.stamp"
rm -rf "$sysroot"
apt_private "$dir/apt" "$suite" "$arch_debian" || exit
# shellcheck disable=SC2086 # a list
if ! { apt-get -q -c "$dir/apt/apt.conf" update &&
       apt-get -q -y -c "$dir/apt/apt.conf" --download-only install $packages; } \
     >"$dir/apt/log" 2>&1; then
	tail -n 20 "$dir/apt/log" >&2
	die "apt-get could not fetch the packages for $arch_name"
fi

# The links come first, so that packages which still have /bin or /lib go where they point.
mkdir -p "$sysroot"/usr/{bin,lib,sbin}
ln -s usr/bin usr/lib usr/sbin "$sysroot"
for deb in "$dir"/apt/cache/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$sysroot" --keep-directory-symlink
done

# What the packages' own scripts would have made
mkdir "$sysroot/repository"
ln -s mawk "$sysroot/usr/bin/awk"
ln -sf which.debianutils "$sysroot/usr/bin/which"
cp "$sysroot/usr/share/base-passwd/passwd.master" "$sysroot/etc/passwd"
cp "$sysroot/usr/share/base-passwd/group.master" "$sysroot/etc/group"
rm -rf "$dir/apt"
echo "$stamp" >"$sysroot/.stamp"
