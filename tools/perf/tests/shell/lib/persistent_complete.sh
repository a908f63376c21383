#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Helpers for tests of the completion in bash.

# persistent_completion: load the completion; fails if perf is installed without it
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

# complete_words EXPECTED WORD...: check the completions of the last word
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
