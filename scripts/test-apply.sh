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

# fetch: the upstream tarball of the base, without touching apt's own lists
fetch()
{
	local apt=$out/apt

	rm -rf "$apt"
	mkdir -p "$apt/lists/partial"
	# shellcheck disable=SC2016 # apt's own
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | sort -u |
		sed 's|^|deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |' \
			>"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "-";
		Dir::State::Lists "$apt/lists";
		Dir::Cache::srcpkgcache "";
		Dir::Cache::pkgcache "";
		APT::Sandbox::User "";
	END
	(cd "$out" && export APT_CONFIG=$apt/apt.conf && apt-get -qq update &&
		apt-get -qq source --download-only --tar-only "$package=$version") || :
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

# shellcheck source=BASE
. "$top/BASE"
read -r package version < <(dpkg-query -W -f '${source:Package} ${source:Version}\n' "$PACKAGE")
upstream=${version%-*}
# Debian's name for it, or kernel.org's.
tarball() { find "$out" -maxdepth 1 -name "linux*[-_]$upstream.*tar.*z"; }
[ -n "$(tarball)" ] || fetch
tarball=$(tarball | head -n 1)
[ -n "$tarball" ] ||
	die "Debian's mirror does not have Linux $upstream any more: put its tarball," \
		"linux-$upstream.tar.xz, into ${out#"$top"/}"

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
