#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How much of perf's own files in the kernel the series changes, by commit: lines
# added and removed.
#
# usage: diffstat.sh [-s]
#
#   -s  only what comes before the feature, the feature, and both

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

cat <<END
core.c      ring_      internal  linux/    uapi/linux/
            buffer.c   .h        perf_event.h

END
feature=$(lgit log --format=%H --diff-filter=A base..HEAD -- kernel/events/persistent.c)
if [ "${1-}" != -s ]; then
	for commit in $(lgit rev-list --reverse base..HEAD -- "${files[@]}"); do
		row "$(lgit log -1 --format=%s "$commit")" "$commit^" "$commit"
	done
	echo
fi
row 'fixes and preparation' base "$feature^"
row "\"$(lgit log -1 --format=%s "$feature")\"" "$feature^" "$feature"
row 'all' base HEAD
