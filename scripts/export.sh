#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Export the series as complete patches for any git tree of this kernel, with a
# cover letter, to build/series/.
#
# usage: export.sh [-c]
#
#   -c  check that git am makes the tree of build/linux of them
#
# The cover letter is patches/cover-letter. Its first lines are the subject and
# the version of the series; @NAME@ stands for what a command or a file says.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

out=$top/build/series
letter=$top/patches/cover-letter

# letter_part NAME
letter_part()
{
	case $1 in
	bench)
		# The table, without what can be computed from it.
		awk '
			/^    Instructions an event/ { on = 1 }
			on && /^[^ ]/ { exit }
			index($0, "of plain") { width = index($0, "of plain") - 1 }
			on { lines[++n] = $0 }
			END {
				while (lines[n] ~ /^ *$/)
					n--
				for (i = 1; i <= n; i++) {
					line = substr(lines[i], 5, i == 1 || width < 5 ? 200 : width - 4)
					sub(/ *$/, "", line)
					print line
				}
				exit n < 3
			}' "$top/bench/README.md" || die 'no table in bench/README.md'
		;;
	diffstat) "$top/scripts/diffstat.sh" -s ;;
	base)
		# shellcheck source=BASE
		. "$top/BASE"
		echo "Debian's $PACKAGE $VERSION"
		;;
	*) die "${letter#"$top"/} has @$1@, which nobody knows" ;;
	esac
}

# write_letter FILE: put what patches/cover-letter says into git's template
write_letter()
{
	local file=$1 line subject=$2

	{
		sed -e '/^\*\*\* BLURB HERE/,$d' -e "s|\*\*\* SUBJECT HERE \*\*\*|$subject|" "$file"
		sed '1,/^$/d' "$letter" | while IFS= read -r line; do
			if [[ $line =~ ^@([a-z]+)@(.*)$ ]]; then
				letter_part "${BASH_REMATCH[1]}" >"$tmp/part"
				# What follows goes behind its last line.
				sed "\$s|\$|${BASH_REMATCH[2]}|" "$tmp/part"
			else
				printf '%s\n' "$line"
			fi
		done
		sed '1,/^\*\*\* BLURB HERE/d' "$file"
	} >"$tmp/letter"
	mv "$tmp/letter" "$file"
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rm -rf "$out"
options=() prefix=
if [ -e "$letter" ]; then
	version=$(sed -n '1,/^$/s/^Version: //p' "$letter")
	if [ "$version" != 1 ]; then
		options=(-v "$version") prefix=v$version-
	fi
	options+=(--cover-letter)
fi
lgit format-patch -q --no-signature --zero-commit --base=base "${options[@]}" -o "$out" base..HEAD
if [ -e "$letter" ]; then
	write_letter "$out/${prefix}0000-cover-letter.patch" \
		"$(sed -n '1,/^$/s/^Subject: //p' "$letter")"
fi
echo "series: $(lgit rev-list --count base..HEAD) patches for git am in ${out#"$top"/}"
[ "${1-}" = -c ] || exit 0

# A worktree with only the directories that the series touches: checking out
# all the rest proves nothing and takes long.
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
mapfile -t patches < <(exported)
if [ ${#patches[@]} -gt 0 ]; then
	tgit am -q --keep-non-patch --empty=keep "${patches[@]}"
fi
if ! lgit diff --exit-code --stat "$(tgit rev-parse HEAD)" HEAD; then
	die "git am of build/series gives another tree than ${linux#"$top"/}"
fi
echo "series: git am on base gives the tree of ${linux#"$top"/}"
