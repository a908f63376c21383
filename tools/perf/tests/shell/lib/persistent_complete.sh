#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What bash would complete, for tests of it.

# persistent_completion: loads it; fails where perf is installed without it
persistent_completion() {
	local script

	script=$(dirname "$0")/../../perf-completion.sh
	if ! [ -e "$script" ]; then
		echo "no perf-completion.sh: not tested"
		return 1
	fi
	# shellcheck source=../../perf-completion.sh
	. "$script"
}

# complete_words EXPECTED WORD...: what the last word may become
complete_words() {
	local expected=$1

	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	printf -v COMP_WORDBREAKS '%b' ' \t\n\x22\x27><=;|&(:'
	COMPREPLY=()
	_perf
	same "$*" "$expected" "${COMPREPLY[*]}"
}
