#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make the picture in Documentation/admin-guide/perf/persistent.rst: a task that answers
# requests, while another task takes its CPU away.
#
# usage: picture.sh          makes it in a guest
#        picture.sh guest    the part that runs in the guest
#
# Environment:
#   LINUX  the kernel tree to write the picture to (build/linux)
#   PERF   the directory of perf (build/perf)

set -eu

top=$(realpath "$(dirname "$0")/..")
src=$(realpath "${LINUX:-$top/build/linux}")
picture=$src/Documentation/admin-guide/perf/persistent-stall.svg
limit=100000

# task NAME SCRIPT: run SCRIPT as a task called NAME, which is the name of its file
task()
{
	ln -sf "$(type -P bash)" "/tmp/$1"
	exec taskset -c 1 "/tmp/$1" -c "$2"
}

guest()
{
	local stall

	cd /tmp
	export PATH=${PERF:-$top/build/perf}:$PATH
	perf record -P flight -a -m 4M -e sched:sched_switch -e sched:sched_wakeup
	# shellcheck disable=SC2016 # the task is to expand it
	task server 'exec 3<> <(:)
		     while :; do
			read -rt 0.02 -u 3
			for ((i = 0; i < 150; i++)); do :; done
		     done' &
	# shellcheck disable=SC2016
	task backup 'exec 3<> <(:)
		     read -rt 3 -u 3
		     start=${EPOCHREALTIME/./}
		     until ((${EPOCHREALTIME/./} - start > 100000)); do :; done
		     echo "$start" >/tmp/start; read -rt 2 -u 3' &
	sleep 2
	chrt -f -p 1 $!
	until [ -s start ]; do sleep 0.5; done
	sleep 0.5
	perf ctl -r flight -o all.data
	# Find the longest time that the backup task ran without a switch.
	stall=$(perf sched timehist -i all.data 2>/dev/null |
		awk '/ backup\[/ && $NF > max { max = $NF; at = $1 - $NF / 1000 } END { print at }')
	perf ctl -r flight --from "$(awk "BEGIN { print $stall - 0.15 }")" \
		--to "$(awk "BEGIN { print $stall + 0.25 }")" -o slow.data
	perf timechart -i slow.data -p server -p backup -o stall.svg
	cp stall.svg slow.data /tmp/out/
}

if [ "${1-}" = guest ]; then
	guest
	exit
fi

"$top/scripts/vm.sh" -s 2 "$top/scripts/picture.sh" guest
# Add the line with the licence, as in all files of the kernel.
sed '2i <!-- SPDX-License-Identifier: GPL-2.0 -->
	s/[[:space:]]*$//' "$top/build/out/stall.svg" >"$picture"
size=$(stat -c %s "$picture")
if [ "$size" -gt $limit ]; then
	echo "picture: it has $size bytes, which is too much" >&2
	exit 1
fi
echo "picture: ${picture#"$src"/}, $size bytes"
