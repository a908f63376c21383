#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Show that the series fits, as make apply puts it there: on vanilla Linux, of which
# Debian has the tarball in its source package, and on Debian's own source.
#
# usage: test-apply.sh [-n]
#
#   -n  apply only, build and test nothing
#
# On Debian's source it has to give the tree of build/linux, which make test
# builds and tests. Of vanilla the kernel and perf are built here, and
# make test's tests are run on that kernel, in a guest of four CPUs.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

out=$top/build/test-apply
build=1
[ "${1-}" != -n ] || build=0
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
mkdir -p "$out"

# Debian's mirrors drop the tarball of a version soon after the next one; then
# one of the last that its stable release had has to do. Without touching apt's
# own lists.
fetch()
{
	local apt=$out/apt package version wanted

	rm -rf "$apt"
	mkdir -p "$apt/lists/partial"
	# shellcheck disable=SC2016 # apt's own
	{
		apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
			'Created-By: Packages' | sort -u
		echo http://deb.debian.org/debian trixie main
	} | sed 's|^|deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |' \
		>"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "-";
		Dir::State::Lists "$apt/lists";
		Dir::Cache::srcpkgcache "";
		Dir::Cache::pkgcache "";
		APT::Sandbox::User "";
	END
	export APT_CONFIG=$apt/apt.conf
	apt-get -qq update
	read -r package version < <(
		# shellcheck source=BASE
		. "$top/BASE"
		dpkg-query -W -f '${source:Package} ${source:Version}\n' "$PACKAGE")
	for wanted in "$package=$version" $(apt-cache showsrc linux |
			sed -n 's/^Version: \(6\.12\..*\)/linux=\1/p' | sort -rVu | head -n 8); do
		if (cd "$out" && apt-get -qq source --download-only --tar-only "$wanted" 2>/dev/null); then
			break
		fi
		echo "there is no source of $wanted any more"
	done
	unset APT_CONFIG
	rm -rf "$apt"
}

# applied TREE: how the tree differs from what it was, in numbers
applied()
{
	git -C "$1" diff --shortstat base HEAD
}

# --- Debian's. The clone shares the objects of build/linux.

debian=$out/debian
rm -rf "$debian"
git -c advice.detachedHead=false clone -q --shared --branch base "$linux" "$debian"
"$top/scripts/apply.sh" "$debian"
[ "$(git -C "$debian" rev-parse 'HEAD^{tree}')" = "$(lgit rev-parse 'HEAD^{tree}')" ] ||
	die 'it gives another tree than that of build/linux'
echo "Debian's source:$(applied "$debian"); the tree of ${linux#"$top"/}"
rm -rf "$debian"

# --- Vanilla.

newest() { find "$out" -maxdepth 1 -name 'linux*_6.12.*.orig.tar.xz' | sort -V | tail -n 1; }
tarball=$(newest)
if [ -z "$tarball" ]; then
	fetch
	tarball=$(newest)
fi
[ -n "$tarball" ] || die 'no tarball of 6.12.y is to be had; put one into build/test-apply'
upstream=${tarball##*_}
upstream=${upstream%.orig*}

vanilla=$out/vanilla
if [ "$(cat "$vanilla/.git/tarball" 2>/dev/null)" != "${tarball##*/}" ]; then
	echo "unpacking ${tarball##*/}"
	rm -rf "$vanilla"
	mkdir -p "$vanilla"
	tar -xf "$tarball" -C "$vanilla" --strip-components=1
	git init -q "$vanilla"
	git -C "$vanilla" config core.looseCompression 0
	git -C "$vanilla" config gc.auto 0
	git -C "$vanilla" config user.name test-apply
	git -C "$vanilla" config user.email test-apply@localhost
	git -C "$vanilla" add -A -f
	git -C "$vanilla" commit -q -m "Linux $upstream"
	git -C "$vanilla" tag base
	echo "${tarball##*/}" >"$vanilla/.git/tarball"
fi
git -C "$vanilla" reset -q --hard base
"$top/scripts/apply.sh" "$vanilla"
echo "vanilla $upstream:$(applied "$vanilla")"
[ $build = 1 ] || exit 0

export LINUX=$vanilla KERNEL=$out/kernel PERF=$out/perf
"$top/scripts/build.sh" kernel
"$top/scripts/build.sh" perf
echo "vanilla $upstream: the kernel and perf are built"
unset LINUX PERF
# The tests and the perf that they use are those of build/linux.
"$top/scripts/build.sh" perf
"$top/scripts/build.sh" selftests
TEST_CPUS=4 "$top/scripts/test.sh"
