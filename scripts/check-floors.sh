#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the layers ("floors") of the files of persistent events in the kernel: a file may
# call only functions of lower floors or of its own floor. The comment at the head of
# persistent_internal.h says which file is on which floor.
#
# usage: check-floors.sh
#
# Prints each use of a function of an upper floor, and each file above 1,000 lines. Fails if
# there is any.

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
cd "$top/kernel/events"

declare -A floor
while read -r nr file; do
	floor[$file]=$nr
done < <(awk '
	/^ \*\/$/ { exit }
	/^ \*  [0-9]  / { nr = $2 }
	nr != "" {
		while (match($0, /(persistent|read)[a-z_]*[.]c/)) {
			print nr, substr($0, RSTART, RLENGTH)
			$0 = substr($0, RSTART + RLENGTH)
		}
	}' persistent_internal.h)

failed=0
for file in persistent*.c read_*.c; do
	if [ -z "${floor[$file]-}" ]; then
		echo "$file: is on no floor, see persistent_internal.h"
		failed=1
	fi
	lines=$(wc -l <"$file")
	if [ "$lines" -gt 1000 ]; then
		echo "$file: has $lines lines, give it less to do"
		failed=1
	fi
done

# code FILE: its code without comments, which may mention any function
code()
{
	sed -n '/^#include/!p' "$1" | gcc -w -fpreprocessed -dD -E -P -x c -
}

# functions FILE: the functions that it has for other files
functions()
{
	code "$1" | sed -n '/^static/!s/^[a-z][a-z_ *]* \**\([a-z_][a-z_0-9]*\)(.*[^;]$/\1/p'
}

for upper in "${!floor[@]}"; do
	names=$(functions "$upper" | paste -sd '|')
	[ -n "$names" ] || continue
	for lower in "${!floor[@]}"; do
		[ "${floor[$lower]}" -lt "${floor[$upper]}" ] || continue
		if code "$lower" | grep -nwE "$names"; then
			echo "$lower is on floor ${floor[$lower]}, and $upper on ${floor[$upper]}"
			failed=1
		fi
	done
done
exit $failed
