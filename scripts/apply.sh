#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Apply the series to a git tree of the kernel that the user has.
#
# usage: apply.sh TREE [SERIES]
#
#   SERIES  only this one and those before it, as in "2-cost"
#
# The commits are made in a clone that shares the objects of the tree. If all of them
# apply, the tree is fast-forwarded to them. Otherwise nothing in it changes.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

tree=${1-} last=${2-}
[ -n "$tree" ] || die 'which tree? make apply LINUX=/path/to/linux'
[ -d "$tree" ] || die "$tree is no directory"
tree=$(realpath "$tree")
[ -e "$tree/.git" ] ||
	die "$tree is no git tree; where it was unpacked from a tarball, make it one:
  git -C $tree init -q && git -C $tree add -fA && git -C $tree commit -qm base"
git -C "$tree" rev-parse --show-toplevel >/dev/null || exit
[ -e "$tree/kernel/events/core.c" ] || die "$tree is no kernel tree"
git -C "$tree" rev-parse -q --verify HEAD >/dev/null || die "$tree has no commit yet"
! git -C "$tree" cat-file -e HEAD:kernel/events/persistent.c 2>/dev/null ||
	die "$tree has the series, or another version of it, already"
for state in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD BISECT_LOG; do
	[ ! -e "$(git -C "$tree" rev-parse --path-format=absolute --git-path $state)" ] ||
		die "$tree is in the middle of a rebase, merge or bisection; end that first"
done
if [ -n "$(git -C "$tree" status --porcelain --untracked-files=no)" ]; then
	die "$tree has changes that are not committed; commit or stash them first"
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
series_ranges >"$tmp/ranges"
end=$(lgit rev-parse HEAD)
if [ -n "$last" ]; then
	end=$(awk -v name="$last" '$1 == name { print $3 }' "$tmp/ranges")
	[ -n "$end" ] || die "there is no series '$last'; they are: $(series_names | xargs)"
fi
# git overwrites ignored files, and Debian's .gitignore ignores everything.
lgit diff --name-only --diff-filter=A base "$end" | while read -r file; do
	if [ -e "$tree/$file" ] || [ -L "$tree/$file" ]; then
		die "$tree has a file of its own called $file; move it away first"
	fi
	dir=$tree/$(dirname "$file")
	while [ ! -e "$dir" ] && [ ! -L "$dir" ]; do dir=$(dirname "$dir"); done
	[ -d "$dir" ] || die "$dir is no directory, but $file needs one; move it away first"
done

version=$(MAKEFLAGS='' make -s --no-print-directory -C "$tree" kernelversion)
[[ $version = "$(sed -n "s/^PACKAGE=linux-source-//p" "$base_file")"* ]] ||
	echo "apply: this is Linux $version, and the series is made on" \
		"$(sed -n "s/^VERSION=//p" "$base_file")" >&2

"$top/scripts/export.sh" >/dev/null
patches=()
while read -r name from to; do
	mapfile -t -O ${#patches[@]} patches < <(exported "$name")
	[ "$to" != "$end" ] || break
done <"$tmp/ranges"
git clone -q --shared --no-checkout "$tree" "$tmp/tree"
tgit()
{
	git -C "$tmp/tree" -c commit.gpgsign=false -c user.name="$name" -c user.email="$email" "$@"
}
name=$(git -C "$tree" config user.name || echo apply)
email=$(git -C "$tree" config user.email || echo apply@localhost)

# Check out only the directories that the series touches: the whole tree takes long.
lgit diff --name-only base "$end" | xargs -r -n1 dirname | sort -u >"$tmp/dirs"
tgit sparse-checkout set --cone --stdin <"$tmp/dirs"
tgit checkout -q --detach

if ! tgit am -q --keep-non-patch "${patches[@]}" >"$tmp/said" 2>&1; then
	{
		echo "apply.sh: this does not fit $tree, which is as it was:"
		sed -n 's/^Patch failed at [0-9]* /  in "/p' "$tmp/said" | sed 's/$/"/'
		sed -n 's/^error: patch failed: /    /p; s/^error: \(.*: .*exist\)/    \1/p' "$tmp/said"
		echo "The patches are in build/series; git am --reject shows how far they go."
	} >&2
	exit 1
fi

git -C "$tree" fetch -q "$tmp/tree" HEAD
git -C "$tree" merge -q --ff-only FETCH_HEAD
hint=
! lgit cat-file -e "$end:kernel/events/persistent.c" 2>/dev/null ||
	hint='; configure with scripts/config -e PERF_EVENTS_PERSISTENT'
echo "apply: ${#patches[@]} commits are on top of $version in $tree$hint"
