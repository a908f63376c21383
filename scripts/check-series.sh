#!/bin/bash
# Export the series as complete patches for any git tree of this kernel to
# build/series/, and check that git am makes the tree of build/linux of them.
#
# usage: check-series.sh [-e]
#
#   -e  export only

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

out=$top/build/series
rm -rf "$out"
lgit format-patch -q --no-signature --zero-commit -o "$out" base..HEAD
echo "series: $(lgit rev-list --count base..HEAD) patches for git am in ${out#"$top"/}"
[ "${1-}" != -e ] || exit 0

# A worktree with only the directories that the series touches: checking out
# all the rest proves nothing and takes long.
tmp=$(mktemp -d)
trap 'lgit worktree remove -f "$tmp/tree"; rm -rf "$tmp"' EXIT
lgit worktree add -q --no-checkout --detach "$tmp/tree" base
tgit()
{
	GIT_COMMITTER_NAME=check GIT_COMMITTER_EMAIL=check@localhost \
		git -C "$tmp/tree" -c commit.gpgsign=false "$@"
}
lgit diff --name-only base HEAD | xargs -r -n1 dirname | sort -u >"$tmp/dirs"
tgit sparse-checkout set --cone --stdin <"$tmp/dirs"
tgit checkout -q --detach base
if [ -s "$tmp/dirs" ]; then
	tgit am -q --keep-non-patch --empty=keep "$out"/*.patch
fi
if ! lgit diff --exit-code --stat "$(tgit rev-parse HEAD)" HEAD; then
	die "git am of build/series gives another tree than ${linux#"$top"/}"
fi
echo "series: git am on base gives the tree of ${linux#"$top"/}"
