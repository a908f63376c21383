#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Show that make apply works on vanilla Linux, whose tarball is in Debian's source package,
# and on Debian's own source.
#
# usage: test-apply.sh [-n | -c]
#
#   -n  only apply, build and test nothing
#   -c  only compile kernel/events of vanilla; exit status 4 if there is no vanilla source
#
# On Debian's source, the result must be the tree of build/linux, which make test builds
# and tests. For vanilla, this script builds the kernel and perf, and runs the tests of
# make test on that kernel, in a guest of four CPUs.
#
# Mirrors do not keep the tarballs for long. Without one, vanilla is Debian's source
# without Debian's patches, as listed in the newest release that the mirror has.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

out=$top/build/test-apply
build=1 compile=0
case ${1-} in
-n) build=0 ;;
-c) compile=1 ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
mkdir -p "$out"

# apt_sources: get the lists of source packages, without changing those of the system
apt_sources()
{
	local apt=$out/apt

	rm -rf "$apt"
	mkdir -p "$apt/lists/partial"
	# shellcheck disable=SC2016 # apt's own
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | sort -u |
		sed 's|^|deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |' \
			>"$apt/sources.list"
	# The next release of Debian has the same kernel, and keeps it longer.
	sed -n 's| bookworm | trixie |p' "$apt/sources.list" >"$apt/more"
	cat "$apt/more" >>"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "-";
		Dir::State::Lists "$apt/lists";
		Dir::Cache::srcpkgcache "";
		Dir::Cache::pkgcache "";
		APT::Sandbox::User "";
	END
	export APT_CONFIG=$apt/apt.conf
	apt-get -qq update || :
}

# fetch VERSION: get the upstream tarball of the base, or else the newest patches of Debian
fetch()
{
	local version

	(
		cd "$out" && apt_sources
		! apt-get -qq source --download-only --tar-only "$package=$1" 2>/dev/null || exit 0
		for version in $(apt-cache showsrc linux | sed -n "s/^Version: ${1%.*}/&/p" |
				cut -d' ' -f2 | grep "^${1%.*}\." | sort -uVr); do
			! apt-get -qq source --download-only --diff-only "linux=$version" \
				2>/dev/null || break
		done
	) || :
	rm -rf "$out/apt"
}

# unpatch TREE TARBALL: remove Debian's patches from its source. Patches that do not match
# the source are skipped; only those that touch perf matter.
unpatch()
{
	local patches=$out/debian-patches patch

	rm -rf "$patches"
	mkdir -p "$patches"
	tar -xf "$2" -C "$patches" --strip-components=2 debian/patches
	sed -n 's/^\([^#[:space:]]*\.patch\).*/\1/p' "$patches/series" | tac |
		while read -r patch; do
			if patch -R -p1 -s -f -F3 --dry-run -d "$1" -i "$patches/$patch" >/dev/null; then
				patch -R -p1 -s -f -F3 --no-backup-if-mismatch -d "$1" -i "$patches/$patch"
			fi
		done
	git -C "$1" add -A
	if git -C "$1" grep -q perf_paranoid_any -- include kernel; then
		die "Debian's change of perf_event_paranoid did not come off"
	fi
}

# applied TREE: the size of the changes that were applied to it
applied()
{
	git -C "$1" diff --shortstat base HEAD
}

# --- Debian's. The clone shares the objects of build/linux.

if [ $compile = 0 ]; then
	debian=$out/debian
	rm -rf "$debian"
	git -c advice.detachedHead=false clone -q --shared --branch base "$linux" "$debian"
	"$top/scripts/apply.sh" "$debian"
	[ "$(git -C "$debian" rev-parse 'HEAD^{tree}')" = "$(lgit rev-parse 'HEAD^{tree}')" ] ||
		die 'it gives another tree than that of build/linux'
	echo "Debian's source:$(applied "$debian"); the tree of ${linux#"$top"/}"
	rm -rf "$debian"
fi

# --- Vanilla.

# shellcheck source=BASE
. "$top/BASE"
read -r package version < <(dpkg-query -W -f '${source:Package} ${source:Version}\n' "$PACKAGE")
upstream=${version%-*}
# The tarball may have Debian's name or that of kernel.org.
tarball() { find "$out" -maxdepth 1 -name "linux*[-_]$upstream.*tar.*z"; }
debianized() { find "$out" -maxdepth 1 -name 'linux_*.debian.tar.*z' | sort -V | tail -n 1; }
[ -n "$(tarball)$(debianized)" ] || fetch "$version"
tarball=$(tarball | head -n 1)
[ -n "$tarball" ] || tarball=$(debianized)
if [ -z "$tarball" ]; then
	echo "Debian's mirror has neither Linux $upstream nor patches of Debian's: put its tarball," \
		"linux-$upstream.tar.xz, into ${out#"$top"/}" >&2
	exit 4
fi

vanilla=$out/vanilla
if [ "$(cat "$vanilla/.git/tarball" 2>/dev/null)" != "${tarball##*/}" ]; then
	rm -rf "$vanilla"
	if [[ $tarball == *.debian.tar.* ]]; then
		echo "vanilla: Debian's source less the patches of ${tarball##*/}"
		git -c advice.detachedHead=false clone -q --shared --branch base "$linux" "$vanilla"
		git -C "$vanilla" tag -d base >/dev/null
		unpatch "$vanilla" "$tarball"
	else
		echo "vanilla: unpacking ${tarball##*/}"
		mkdir -p "$vanilla"
		tar -xf "$tarball" -C "$vanilla" --strip-components=1
		git init -q "$vanilla"
		git -C "$vanilla" config core.looseCompression 0
		git -C "$vanilla" config gc.auto 0
		git -C "$vanilla" add -A -f
	fi
	git -C "$vanilla" config user.name test-apply
	git -C "$vanilla" config user.email test-apply@localhost
	git -C "$vanilla" commit -q -m "Linux $upstream"
	git -C "$vanilla" tag base
	echo "${tarball##*/}" >"$vanilla/.git/tarball"
fi
git -C "$vanilla" reset -q --hard base
"$top/scripts/apply.sh" "$vanilla"
echo "vanilla $upstream:$(applied "$vanilla")"
[ $build = 1 ] || exit 0

if [ $compile = 1 ]; then
	"$top/scripts/deps.sh" kernel
	"$top/scripts/config.sh" "$vanilla" "$out/kernel-events" "$top/configs/vm.config"
	make -s -C "$vanilla" O="$out/kernel-events" CC='ccache gcc' HOSTCC='ccache gcc' \
		"-j$(nproc)" kernel/events/
	echo "vanilla $upstream: kernel/events compiles"
	exit 0
fi

export LINUX=$vanilla KERNEL=$out/kernel PERF=$out/perf
"$top/scripts/build.sh" kernel
"$top/scripts/build.sh" perf
echo "vanilla $upstream: the kernel and perf are built"
unset LINUX PERF
# The tests, and the perf that they use, are those of build/linux.
"$top/scripts/build.sh" perf
"$top/scripts/build.sh" selftests
TEST_CPUS=4 "$top/scripts/test.sh"
