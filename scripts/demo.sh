#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The flight recorder at work: every step is a command as a user types it, and its output
# is checked.
#
# usage: demo.sh [tour]         boots a guest with four CPUs, then reads its file on
#                               this machine, with this machine's perf. The tour
#                               also shows all other commands
#        demo.sh guest [tour]   the part that runs in the guest

set -eu

top=$(realpath "$(dirname "$0")/..")
. "$top/scripts/demo-lib.sh"
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"

step()
{
	printf '\n%s# %s%s\n' "$bold" "$*" "$off"
}

# The workload: a real compile, with many short-lived processes
compile()
{
	rm -rf "/tmp/$1"
	mkdir -p "/tmp/$1"
	make -s -C "$base_build/linux/tools/lib/subcmd" O="/tmp/$1" -j4 V=0
}

samples()
{
	perf script -i "$1" -F comm,event 2>/dev/null | wc -l
}

# listing PERF FILE FIELDS: all samples and their call chains. Versions of perf pad columns
# differently, so runs of blanks are squeezed, and not all of them find inlined functions.
listing()
{
	"$1" script -f -i "$2" --no-inline -F "comm,pid,cpu,time,event,$3" 2>/dev/null | tr -s ' '
}

# perf 6.1 prints user space addresses in call chains as offsets into the mapped file. Turn
# the addresses of our perf into offsets, too, so that the listings can be compared.
as_offsets()
{
	sed -E '/\((\[[^v]|.*\.ko)/! s/^(\t *)[0-9a-f]+ \(.*\+0x([0-9a-f]+)\)$/\1\2/
		s/(\s[0-9a-f]+) \(.*\)$/\1/'
}

# All other commands that look at the recorder
tour()
{
	step 'What is in there? Each event and CPU, how far back it reaches, what was overwritten.'
	run perf ctl -l flight
	shows 'syscalls:sys_enter_openat'
	step 'The same for a program.'
	run "perf ctl -l flight --json | python3 -m json.tool | head -n 20"
	shows '"version"'

	step 'Only the last seconds; only some CPUs; no more than so much.'
	run perf ctl -r flight --last 5s -o slice.data
	[ "$(samples slice.data)" -gt 0 ] || fail 'expected samples'
	run perf ctl -r flight -C 1,3 --max-size 2M -o small.data
	run "perf script -i small.data -F cpu 2>/dev/null | sort | uniq -c"
	shows '\[00[13]\]'
	step 'As a stream, with no file.'
	run "perf ctl -r flight --last 5s -o - 2>/dev/null | perf script -i - -G -F comm,time,event 2>/dev/null | tail -n 3"
	shows ':'

	step 'A second recorder. Both, and an event of a command, go into one file in the order of time.'
	run perf record -P tasks -e sched:sched_process_exit -e task-clock -a
	run "perf record -o both.data -e persistent/flight/ -e persistent/tasks/ -e page-faults -c 1 true"
	run "perf script -i both.data -F event 2>/dev/null | sort | uniq -c"
	shows 'page-faults'
	shows 'sched_process_exit'
	step 'What was read is an ordinary perf.data: choose when looking at it.'
	run "perf report -i both.data --stdio --comm true --no-children -g none -s comm,sym 2>/dev/null | grep -E '^# comm|^ +[0-9]' | head -n 5"
	shows 'comm: true'
	run perf record -P calls -m 2M -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -a
	run "ls / >/dev/null; perf ctl -r calls -o calls.data"
	run "perf trace -i calls.data 2>&1 | grep -E ' ls/.*openat' | head -n 3"
	shows openat
	run perf ctl -d calls

	step 'Count: since it was made, and while a command runs.'
	run perf stat -e persistent/tasks/ -a
	shows 'sched_process_exit'
	run perf stat -e persistent/tasks/ -a -- true
	run perf stat -e persistent/tasks/ -a -I 200 -- sleep 0.5
	step 'Watch.'
	run "(sleep 3; echo q) | perf top --stdio -d 1 -s comm -e persistent/flight/ 2>&1 | grep % | head -n 4"
	shows '%'
	step 'The names are in the list of events, and the shell completes them.'
	run "perf list persistent 2>/dev/null"
	shows 'persistent/tasks/'
	run perf ctl -d tasks

	step 'Keep this moment, and go on recording: a snapshot, with memory set aside for the next.'
	run perf ctl --spares 1 flight
	run perf ctl -s --keep 4 flight
	shows 'flight.1'

	step 'Nobody is there when it happens: have the kernel take one, and what follows, too.'
	run "perf ctl -t flight --when sched:sched_process_exec --filter 'filename ~ \"*/ar\"' --do snapshot --after 200ms --times 1"
	(sleep 2; ar --version >/dev/null) &
	run perf ctl --wait flight --timeout 120s
	shows 'flight.2'
	wait $!
	run perf ctl -l
	shows 'flight.2'
	run perf record -o night.data -e persistent/flight.2/ -a
	run 'perf script -i night.data -F comm,pid,cpu,time,event,trace 2>/dev/null | grep "filename=.*/ar " | tail -n 2'
	shows '/ar '
	run perf ctl -d flight.1 flight.2

	step 'Switch it off and on, forget what it holds, give it larger buffers.'
	run perf ctl --disable flight
	run perf ctl -l
	shows '^flight  *off'
	run perf ctl --enable flight
	run perf ctl --spares 0 flight
	run perf ctl --clear flight
	run perf ctl --resize flight -m 2M
	shows 'buffers of 2M per CPU'
	run "perf ctl -d 'flight.*'"
	compile three >/dev/null 2>&1
}

guest()
{
	local creator first second
	export PATH=$base_perf:$PATH PAGER=cat
	mkdir -p /tmp/demo && cd /tmp/demo

	step 'A shell starts the recorder. "perf record -P" makes it and exits.'
	printf '%s$ perf record -P flight -m 256 -e cpu-clock/freq=199,call-graph=fp,name=clock/ -e sched:sched_process_exec -e syscalls:sys_enter_openat -a%s\n' "$bold" "$off"
	bash -c 'perf record -P flight -m 256 -e cpu-clock/freq=199,call-graph=fp,name=clock/ -e sched:sched_process_exec \
			-e syscalls:sys_enter_openat -a >create.txt 2>&1
		 echo $? >created; exec sleep 1000' &
	creator=$!
	until [ -s created ]; do sleep 0.1; done
	out=$(cat create.txt)
	printf '%s\n' "$out"
	[ "$(cat created)" = 0 ] || fail "the recorder was not created"
	shows flight

	step 'Kill that shell, hard. Nothing holds the recorder open now.'
	run "kill -9 $creator"
	wait "$creator" 2>/dev/null || :
	run "pgrep -x perf || echo 'no perf process'"
	shows 'no perf process'

	step 'It is in the list, and in sysfs like the events of any other PMU.'
	run perf ctl -l
	shows '^flight .*clock'
	run 'cd /sys/bus/event_source/devices/persistent && grep . type events/*'
	shows 'events/flight:config=0x'

	step 'Real work, with nothing watching: a parallel compile.'
	printf '%s$ make -C tools/lib/subcmd -j4%s\n' "$bold" "$off"
	compile one
	run 'ls -s /tmp/one/libsubcmd.a'
	shows libsubcmd.a

	step 'What did it do? Read the recorder, while the next compile is under way.'
	compile two >/dev/null 2>&1 &
	run perf record -o perf.data -e persistent/flight/ -a
	run 'perf report -i perf.data --stdio --no-children -g none -s comm,dso 2>/dev/null | grep -E "^ +[0-9]" | head -n 12'
	shows 'cc1'
	run 'perf script -i perf.data -F comm,pid,cpu,time,event,trace 2>/dev/null | grep sched_process_exec | tail -n 4'
	shows 'sched_process_exec'
	run 'perf script -i perf.data --comm cc1 -F comm,pid,time,ip,sym,dso 2>/dev/null | awk -v RS= "/cc1\)/ { print; exit }"'
	shows '/cc1\)'

	step 'Nothing was taken out: a second reader gets the same and what has come since.'
	run perf ctl -r flight -o second.data
	wait $!
	first=$(samples perf.data)
	second=$(samples second.data)
	out="$first samples in the first file, $second in the second"
	echo "$out"
	[ "$first" -gt 100 ] || fail 'expected more than 100 samples'
	[ "$second" -gt 100 ] || fail 'expected more than 100 samples'

	[ "$1" != tour ] || tour

	step 'Read it a last time and take it down: -k.'
	run perf record -o last.data -e persistent/flight/ -a -k
	[ "$(samples last.data)" -gt 100 ] || fail 'expected more than 100 samples'
	run perf ctl -l
	[ -z "$out" ] || fail 'expected an empty list'

	cp perf.data /tmp/out/demo.data
	listing perf perf.data ip,dso,dsoff | as_offsets >/tmp/out/demo.script
}

if [ "${1-}" = guest ]; then
	guest "${2-}"
	exit 0
fi

[ -t 1 ] && export DEMO_COLOR=1
cd "$top"
dir=${arch_build#"$top"/}/demo
rm -rf "$dir" build/out/demo.*
"$top/scripts/vm.sh" -s 4 -m 3072 -t 1200 "$top/scripts/demo.sh" guest "${1-}"
mkdir -p "$dir"
mv build/out/demo.data "$dir/perf.data"
mv build/out/demo.script "$dir/script.txt"

step "On this machine, $(uname -r), with the perf that Debian ships: the file opens there, too."
run /usr/bin/perf version
run "/usr/bin/perf report -i $dir/perf.data --stdio --no-children -g none -s comm 2>/dev/null | grep -E '^ +[0-9]' | head -n 8"
shows cc1
run "/usr/bin/perf script -f -i $dir/perf.data -F comm,event 2>/dev/null | sort | uniq -c | sort -rn | head -n 8"
shows 'cc1 .*clock'
listing /usr/bin/perf "$dir/perf.data" ip >"$dir/host.txt"
cmp "$dir/script.txt" "$dir/host.txt" ||
	fail 'the two perfs do not see the same samples'
out=$(awk '/^[^\t]/ { samples++ } /^\t/ { frames++ } END { print samples, "samples and", frames, "frames" }' "$dir/host.txt")
echo "Both perfs see the same $out of call chains, with the same names, times and addresses."

printf '\ndemo: all steps showed what they should. The recording is in %s\n' "$dir/perf.data"
