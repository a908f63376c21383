#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Remove the messages that scripts/checkpatch.allow explains from the output of
# checkpatch.pl --terse --show-types.
#
# usage: checkpatch-argued.sh <SAID
#
# Prints the remaining messages, and fails if there are any.

set -uo pipefail

allow=$(dirname "$0")/checkpatch.allow

# A line is TYPE, a regular expression for the text, and the reason.
awk -F'\t+' '
	NR == FNR {
		if (!/^(#|$)/)
			texts[$1] = texts[$1] SUBSEP $2
		next
	}
	/^$/ || /^total: / { next }
	{
		type = $0
		sub(/^[^ ]* [A-Z]+:/, "", type)
		sub(/:.*/, "", type)
		n = split(texts[type], text, SUBSEP)
		for (i = 2; i <= n; i++)
			if ($0 ~ text[i])
				next
		print
		left = 1
	}
	END { exit left }' "$allow" -
