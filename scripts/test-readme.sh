#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the commands of "From nothing to an incident" in README.md as they stand there, and check
# that the file has the record that fired the trigger. This runs in a guest, so the first
# command, which starts one, is left out.
#
# usage: test-readme.sh

set -u

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
dir=/tmp/incidents

fail()
{
	echo "not ok 1 - $*"
	exit 1
}

mapfile -t commands < <(sed -n '/^## From nothing/,/^## Commands/s/^    # //p' "$top/README.md")

echo 1..1
[ ${#commands[@]} -eq 6 ] || fail "README.md has ${#commands[@]} commands for root instead of 6"
for command in "${commands[@]::4}"; do
	echo "# $command"
	if [[ $command = PATH=* ]]; then
		# The perf of another base is elsewhere.
		PATH=$base_perf:$PATH
		continue
	fi
	eval "$command" || fail "$command"
done
save=$!
trap 'kill $save; perf ctl delete flight "flight.*"' EXIT

echo "# ${commands[4]}"
eval "${commands[4]}"
for ((i = 0; i < 600; i++)); do
	[ -z "$(ls $dir/*.data 2>/dev/null)" ] || break
	sleep 0.1
done
echo "# ${commands[5]}"
said=$(eval "${commands[5]}") || fail "${commands[5]}"
grep -q 'signal:signal_deliver: sig=11 ' <<<"$said" || fail "the record of the trigger is missing"
echo "ok 1 - README's commands"
