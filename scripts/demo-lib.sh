# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common parts of the demos: they show, run and check each of their commands.

demo=$(basename "$0" .sh)
bold=$'\e[1m' off=$'\e[0m'
if [ ! -t 1 ] && [ -z "${DEMO_COLOR:-}" ]; then
	bold='' off=''
fi

fail()
{
	printf '\n%s: %s\n' "$demo" "$*" >&2
	exit 1
}

# Show a command, run it, keep what it printed in $out.
run()
{
	printf '%s$ %s%s\n' "$bold" "$*" "$off"
	if ! out=$(eval "$*" 2>&1); then
		printf '%s\n' "$out"
		fail "this command failed"
	fi
	printf '%s\n' "${out:-(nothing)}"
}

shows()
{
	grep -qE -- "$1" <<<"$out" || fail "expected to see: $1"
}
