#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Export each series to build/series/NAME/, as complete patches with a cover letter that
# apply to any git tree of this kernel.
#
# usage: export.sh [-c]
#
#   -c  check after each series that git am of the patches gives the tree of build/linux
#
# The cover letter is patches/NAME/cover-letter. Its first line is the subject; a line
# "Version: N" may follow. @NAME@ is replaced by the output of a command or by a part of
# a file.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

out=$base_build/series

# letter_part WHAT SERIES: print the replacement of @WHAT@
letter_part()
{
	case $1 in
	bench)
		# The table, without the columns that follow from the others
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
	diffstat) "$top/scripts/diffstat.sh" "$2" ;;
	base)
		# shellcheck source=BASE
		. "$base_file"
		echo "Debian's $PACKAGE $VERSION"
		;;
	*) die "a cover letter has @$1@, which nobody knows" ;;
	esac
}

# write_letter FILE SERIES: insert the cover letter of SERIES into git's template
write_letter()
{
	local file=$1 letter line subject

	letter=$(of_base "patches/$2/cover-letter")
	subject=$(sed -n 1p "$letter")
	{
		sed -e '/^\*\*\* BLURB HERE/,$d' -e "s|\*\*\* SUBJECT HERE \*\*\*|$subject|" "$file"
		sed '1,/^$/d' "$letter" | while IFS= read -r line; do
			if [[ $line =~ ^@([a-z]+)@(.*)$ ]]; then
				letter_part "${BASH_REMATCH[1]}" "$2" >"$tmp/part"
				# Append the rest of the line to the last line of the part.
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
series_ranges >"$tmp/ranges"
while read -r name from to <&3; do
	letter=$(of_base "patches/$name/cover-letter")
	[ -e "$letter" ] || die "there is no ${letter#"$top"/}"
	options=() prefix=
	version=$(sed -n '2,/^$/s/^Version: //p' "$letter")
	if [ -n "$version" ]; then
		options=(-v "$version") prefix=v$version-
	fi
	lgit format-patch -q --no-signature --zero-commit --base=base --cover-letter \
		"${options[@]}" -o "$out/$name" "$from..$to"
	write_letter "$out/$name/${prefix}0000-cover-letter.patch" "$name"
	echo "series: $(lgit rev-list --count "$from..$to") patches for git am in" \
		"${out#"$top"/}/$name"
done 3<"$tmp/ranges"
[ "${1-}" = -c ] || exit 0

# Use a tree with only the files that the series touch: a full checkout takes long and
# proves nothing more.
tgit()
{
	GIT_COMMITTER_NAME=check GIT_COMMITTER_EMAIL=check@localhost \
		git -C "$tmp/tree" -c commit.gpgsign=false -c core.autocrlf=false "$@"
}
# touched COMMIT: these files as they are in COMMIT
touched()
{
	xargs -d '\n' -a "$tmp/files" git -C "$linux" ls-tree "$1" -- | sort
}
lgit log --format= --name-only --no-renames base..HEAD | sort -u >"$tmp/files"
git init -q "$tmp/tree"
git_path objects >"$tmp/tree/.git/objects/info/alternates"
touched base | tgit update-index --index-info
tgit checkout-index -q -a
GIT_AUTHOR_NAME=check GIT_AUTHOR_EMAIL=check@localhost tgit commit -q -m base
while read -r name from to <&3; do
	mapfile -t patches < <(exported "$name")
	tgit am -q --keep-non-patch --empty=keep "${patches[@]}"
	if ! diff <(touched "$to") <(tgit ls-tree -r HEAD | sort) >&2; then
		die "git am of ${out#"$top"/}/$name gives other files than ${linux#"$top"/} has there"
	fi
done 3<"$tmp/ranges"
echo "series: git am of each on those before it gives the files of ${linux#"$top"/}"
