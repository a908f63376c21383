#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Take what scripts/checkpatch.allow argues from what checkpatch.pl --terse
# --show-types says.
#
# usage: checkpatch-argued.sh <SAID
#
# Prints the rest, and fails if there is any.

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
