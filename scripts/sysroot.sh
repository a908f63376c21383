#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unpack Debian's packages for another architecture: the root of its guest, and the
# libraries that perf and the tests are compiled with. Does nothing if they are there.
#
# usage: ARCH=arm64|s390 sysroot.sh
#
# Writes to build/ARCH/root. Nothing is installed, and the system's package lists do not
# change: apt works with lists, state and cache of its own. No script of a package runs.

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"

[ -n "$arch_name" ] || { echo 'usage: ARCH=arm64|s390 sysroot.sh' >&2; exit 1; }
# What the guest runs; what the demo compiles with; what perf and the tests are linked with.
packages='base-files base-passwd bash bsdutils coreutils dash debianutils diffutils e2fsprogs
	findutils grep gzip hostname iproute2 kmod libc-bin linux-perf login mawk mount passwd
	procps python3 sed strace tar util-linux util-linux-extra xz-utils
	gcc make
	libc6-dev libcap-dev libdw-dev libelf-dev liblzma-dev libnuma-dev libslang2-dev
	libssl-dev libtraceevent-dev libunwind-dev libzstd-dev systemtap-sdt-dev zlib1g-dev'
suite=bookworm
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
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
# shellcheck disable=SC2016 # apt-get puts it in
mirror=$(apt-get indextargets --format '$(SITE)' \
	'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | head -n 1)
[ -n "$mirror" ] || die "no mirror of Debian in apt's lists; 'apt-get update' makes them"

echo "sysroot: $suite for $arch_name into ${sysroot#"$top"/}"
rm -rf "$sysroot" "$dir/apt"
mkdir -p "$dir"/apt/{lists,cache/archives}/partial "$dir/apt/none"
touch "$dir/apt/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$dir/apt/sources.list"
cat >"$dir/apt/apt.conf" <<END
APT::Architecture "$arch_debian";
APT::Architectures { "$arch_debian"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::Etc::SourceList "$dir/apt/sources.list";
Dir::Etc::SourceParts "$dir/apt/none";
Dir::Etc::PreferencesParts "$dir/apt/none";
Dir::State "$dir/apt";
Dir::State::Lists "$dir/apt/lists";
Dir::State::Status "$dir/apt/status";
Dir::Cache "$dir/apt/cache";
END
export APT_CONFIG=$dir/apt/apt.conf
# shellcheck disable=SC2086 # a list
if ! { apt-get -q update && apt-get -q -y --download-only install $packages; } >"$dir/apt/log" 2>&1; then
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
ln -s mawk "$sysroot/usr/bin/awk"
ln -sf which.debianutils "$sysroot/usr/bin/which"
cp "$sysroot/usr/share/base-passwd/passwd.master" "$sysroot/etc/passwd"
cp "$sysroot/usr/share/base-passwd/group.master" "$sysroot/etc/group"
rm -rf "$dir/apt"
echo "$stamp" >"$sysroot/.stamp"
