#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetch the kernel source of a newer release of Debian.
#
# usage: fetch-source.sh PACKAGE VERSION SUITE DIR
#
# Writes the tarball to DIR/PACKAGE.tar.xz, and its version to DIR/version. Nothing is
# installed, and the system's package lists do not change, see apt-lib.sh.

set -euo pipefail

package=$1 version=$2 suite=$3 dir=$4
# shellcheck source=scripts/apt-lib.sh
. "$(dirname "$0")/apt-lib.sh"

die()
{
	echo "fetch-source: $*" >&2
	exit 1
}

if [ -e "$dir/$package.tar.xz" ] && [ -e "$dir/version" ]; then
	exit 0
fi

mkdir -p "$dir"
apt_private "$dir/apt" "$suite" || exit

echo "fetch-source: $package of $suite into ${dir#"$PWD"/}"
apt() { apt-get -q -c "$dir/apt/apt.conf" "$@"; }
if ! { apt update && cd "$dir/apt" && { apt download "$package=$version" ||
       apt download "$package"; }; } >"$dir/apt/log" 2>&1; then
	tail -n 20 "$dir/apt/log" >&2
	die "apt-get could not fetch $package of $suite"
fi
deb=$(find "$dir/apt" -maxdepth 1 -name "${package}_*.deb" | head -n 1)
dpkg-deb --fsys-tarfile "$deb" |
	tar -xO -f - "./usr/src/$package.tar.xz" >"$dir/$package.tar.xz.new"
dpkg-deb -f "$deb" Version >"$dir/version"
rm -f "$deb"
mv "$dir/$package.tar.xz.new" "$dir/$package.tar.xz"
