#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Show how much the series change perf's existing files in the kernel: lines added and
# removed, by commit and by series. New files do not count.
#
# usage: diffstat.sh [-s] [SERIES]...
#
#   -s      by series only
#   SERIES  only these, as in "1-fixes"; the default is all, with the sums of the feature's
#           preparation, of its hooks, and of all

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

files=(kernel/events/core.c kernel/events/ring_buffer.c kernel/events/internal.h
	include/linux/perf_event.h include/uapi/linux/perf_event.h)

# row TEXT FROM TO
row()
{
	local file sizes=() size

	for file in "${files[@]}"; do
		size=$(lgit diff --numstat --no-renames "$2" "$3" -- "$file" |
			awk '{ print "+" $1, "-" $2 }')
		sizes+=("${size:--}")
	done
	printf '%-11s %-10s %-9s %-9s %-9s  %.80s\n' "${sizes[@]}" "$1"
}

short=0
if [ "${1-}" = -s ]; then
	short=1
	shift
fi
wanted=" $* "
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
series_ranges >"$tmp/ranges"

cat <<END
core.c      ring_      internal  linux/    uapi/linux/
            buffer.c   .h        perf_event.h

END
feature_from='' feature_to=''
while read -r name from to; do
	# The series of the feature in the kernel
	if [[ $name = [3-6]-* ]]; then
		feature_from=${feature_from:-$from} feature_to=$to
	fi
	[ $# -eq 0 ] || [[ $wanted = *" $name "* ]] || continue
	if [ $short = 0 ]; then
		for commit in $(lgit rev-list --reverse "$from..$to" -- "${files[@]}"); do
			row "  $(lgit log -1 --format=%s "$commit")" "$commit^" "$commit"
		done
	fi
	row "$name" "$from" "$to"
	[ $short = 1 ] || [ $# -gt 0 ] || echo
done <"$tmp/ranges"
[ $# -eq 0 ] || exit 0
if [ -n "$feature_from" ]; then
	# The first commits prepare core.c. The hooks begin with the ABI.
	hooks=$(lgit rev-list --reverse "$feature_from..$feature_to" -- \
		include/uapi/linux/perf_event.h | sed -n 1p)
	row 'the feature, 3 to 6: preparation' "$feature_from" "$hooks^"
	row 'the feature, 3 to 6: hooks' "$hooks^" "$feature_to"
fi
row 'all' base HEAD
