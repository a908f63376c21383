#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Create build/linux: Debian's kernel source as a git tree with the series on top. It is
# updated if the series has changed, for example by a git pull, unless build/linux has
# edits that make refresh has not written back.
#
# usage: source.sh [-f]
#
#   -f  drop such edits

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

force=0
[ "${1-}" != -f ] || force=1

# Debian's .gitignore hides everything except the packaging, even a new .gitignore. Change
# it in the working tree only; the commits keep it as it is.
show_new_files()
{
	git -C "$1" update-index --skip-worktree .gitignore
	sed -i -e '/^\/\*$/d' -e 's|^!/debian/$|!.gitignore|' "$1/.gitignore"
}

# Unpack into another directory first, so that an interruption leaves nothing half done.
unpack()
{
	local dir=$linux.new version tarball

	# shellcheck source=BASE
	. "$base_file"
	if [ -n "${SUITE-}" ]; then
		tarball=$base_build/source/$PACKAGE.tar.xz
		"$top/scripts/deps.sh" fetch
		"$top/scripts/fetch-source.sh" "$PACKAGE" "$VERSION" "$SUITE" "${tarball%/*}"
		version=$(cat "${tarball%/*}/version")
	else
		tarball=/usr/src/$PACKAGE.tar.xz
		"$top/scripts/deps.sh" source
		version=$(dpkg-query -W -f '${Version}' "$PACKAGE")
	fi
	if [ "$version" != "$VERSION" ]; then
		echo "source: the series was made on $PACKAGE $VERSION, using $version"
	fi
	echo "source: unpacking $PACKAGE $version into ${linux#"$top"/}"
	rm -rf "$dir"
	mkdir -p "$dir"
	tar -xf "$tarball" -C "$dir" --strip-components=1

	git init -q -b persistent "$dir"
	# No compression: these files are read often and never packed.
	git -C "$dir" config core.looseCompression 0
	git -C "$dir" config gc.auto 0
	git -C "$dir" config core.autocrlf false
	# -f: some files of the source match its own .gitignore.
	git -C "$dir" add -A -f
	export GIT_AUTHOR_NAME=Debian GIT_AUTHOR_EMAIL=debian-kernel@lists.debian.org
	GIT_AUTHOR_DATE=$(date -R -r "$dir/Makefile")
	export GIT_AUTHOR_DATE
	git -C "$dir" update-ref HEAD "$(
		printf 'Linux %s\n\n%s %s\n' "$(make -s -C "$dir" kernelversion)" \
			"$PACKAGE" "$version" |
			GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME \
			GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL \
			GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE \
			git -C "$dir" commit-tree "$(git -C "$dir" write-tree)")"
	git -C "$dir" tag base
	show_new_files "$dir"
	mv "$dir" "$linux"
}

mkdir -p "$base_build"
exec 9>"$base_build/.source.lock"
flock 9

[ -e "$linux/.git" ] || unpack
lgit rev-parse -q --verify 'base^{commit}' >/dev/null ||
	die "$linux has no tag 'base'; 'make clean' removes it"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
series_root "$tmp"
load_state
hash=$(series_hash)
head=$(lgit rev-parse HEAD)
if [ $force = 0 ]; then
	[ "$hash" != "$saved_hash" ] || exit 0
	if [ "$head" != "${saved_head:-$(lgit rev-parse base)}" ] ||
	   [ -n "$(lgit status --porcelain)" ]; then
		cat >&2 <<-END
			source: the series changed, but ${linux#"$top"/} has edits that are not in it
			source: and is left alone. 'scripts/refresh.sh -f' writes these edits
			source: over the series, 'scripts/source.sh -f' the series over the edits.
		END
		exit 0
	fi
fi

new=$(replay "$root" "$tmp")
# This writes only the files that differ, so builds stay incremental.
lgit reset -q --hard "$new"
show_new_files "$linux"
[ $force = 0 ] || lgit clean -q -d -f
save_state
echo "source: ${linux#"$top"/} is at $(lgit log -1 --format='%h ("%s")')"
