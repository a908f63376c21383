#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the commands of "From nothing to an incident" and "At 3 a.m." in README.md as they stand
# there, and check that the files have the record that fired the trigger. This runs in a guest,
# so the first command, which starts one, is left out.
#
# usage: test-readme.sh

set -u

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
dir=/tmp/incidents
n=1

fail()
{
	echo "not ok $n - $*"
	exit 1
}

mapfile -t commands < <(sed -n '/^## From nothing/,/^## At/s/^    # //p' "$top/README.md")
mapfile -t later < <(sed -n '/^## At/,/^## Commands/s/^    # //p' "$top/README.md")

echo 1..2
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

n=2
[ ${#later[@]} -eq 3 ] || fail "README.md has ${#later[@]} commands for 3 a.m. instead of 3"
# Another one, in the time for which the trigger rests: it is not in the snapshot above.
eval "${commands[4]}"
for command in "${later[@]}"; do
	echo "# $command"
	eval "$command" >$dir/said || fail "$command"
	! grep -q 'signal:signal_deliver: sig=11 ' $dir/said || found=1
done
[ "${found-}" ] || fail "the snapshot lacks the record"
echo "ok 2 - README's commands for 3 a.m."
