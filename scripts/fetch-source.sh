#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetch the kernel source of a newer release of Debian.
#
# usage: fetch-source.sh PACKAGE VERSION SUITE DIR
#
# Writes the tarball to DIR/PACKAGE.tar.xz, and its version to DIR/version. Nothing is
# installed, and the system's package lists do not change: apt works with a sources list,
# state and cache below DIR. Only the mirror is taken from the system's lists.

set -euo pipefail

package=$1 version=$2 suite=$3 dir=$4
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

die()
{
	echo "fetch-source: $*" >&2
	exit 1
}

if [ -e "$dir/$package.tar.xz" ] && [ -e "$dir/version" ]; then
	exit 0
fi

# shellcheck disable=SC2016 # apt-get puts it in
mirror=$(apt-get indextargets --format '$(SITE)' \
	'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | head -n 1)
[ -n "$mirror" ] || die "no mirror of Debian in apt's lists; 'apt-get update' makes them"
[ -e "$keyring" ] || die "there is no $keyring; it is in debian-archive-keyring"

mkdir -p "$dir"/apt/{lists,cache}/partial "$dir/apt/empty"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$dir/apt/sources.list"
touch "$dir/apt/status"
# apt's own user may not be able to enter these directories, so apt must not switch to it.
apt()
{
	local what=$1
	shift
	apt-get -q -o Dir::Etc::SourceList="$dir/apt/sources.list" -o Dir::Etc::SourceParts="$dir/apt/empty" \
		-o Dir::Etc::PreferencesParts="$dir/apt/empty" -o Dir::Etc::Preferences=/dev/null \
		-o Dir::State="$dir/apt" -o Dir::State::Lists="$dir/apt/lists" \
		-o Dir::State::Status="$dir/apt/status" -o Dir::Cache="$dir/apt/cache" \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$what" "$@"
}

echo "fetch-source: $package of $suite into ${dir#"$PWD"/}"
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
