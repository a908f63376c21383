#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the commands of "Five commands" in README.md, and check that the file has the record
# that fired the trigger. This runs in a guest, so the first command, which starts one, is
# left out.
#
# usage: test-readme.sh

set -u

top=$(realpath "$(dirname "$0")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
PATH=$base_perf:$PATH
dir=/var/lib/perf-flight

fail()
{
	echo "not ok 1 - $*"
	exit 1
}

mapfile -t commands < <(sed -n '/^## Five commands/,/^## Commands/s/^    # //p' "$top/README.md")

echo 1..1
[ ${#commands[@]} -eq 4 ] || fail "README.md has ${#commands[@]} commands for root instead of 4"
mkdir -p "${dir%/*}"
mount -t tmpfs none "${dir%/*}"
for command in "${commands[@]::3}"; do
	echo "# $command"
	eval "$command" || fail "$command"
done
save=$!
trap 'kill $save; perf ctl delete flight "flight.*"' EXIT

# shellcheck disable=SC2016 # the number of that shell
sh -c 'kill -SEGV $$'
for ((i = 0; i < 600; i++)); do
	[ -z "$(ls $dir/*.data 2>/dev/null)" ] || break
	sleep 0.1
done
echo "# ${commands[3]}"
said=$(eval "${commands[3]}") || fail "${commands[3]}"
grep -q 'signal:signal_deliver: sig=11 ' <<<"$said" || fail "the record of the trigger is missing"
echo "ok 1 - README's five commands"
