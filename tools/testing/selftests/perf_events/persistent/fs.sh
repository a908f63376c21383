#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Makes, controls and deletes recorders in perffs with nothing but a shell. Busybox is
# enough.

ns=kst_fs_$$
dir=/sys/kernel/perf
probes=/sys/kernel/tracing/kprobe_events
max=/proc/sys/kernel/perf_event_max_persistent
rate=/proc/sys/kernel/perf_event_max_sample_rate
cpu1=/sys/devices/system/cpu/cpu1/online
mine=
probe=
old_max=
old_rate=
offline=
other=
thousand=
nr=0
failed=0

# What is empty has not been changed.
cleanup()
{
	for d in "$dir/$ns"*; do
		[ ! -d "$d" ] || rmdir "$d"
	done
	[ -z "$probe" ] || echo "-:$probe" 2>/dev/null >>"$probes"
	[ -z "$old_max" ] || echo "$old_max" >"$max"
	[ -z "$old_rate" ] || echo "$old_rate" >"$rate"
	[ -z "$offline" ] || echo 1 >"$cpu1"
	if [ -n "$other" ]; then
		umount "$other" 2>/dev/null
		rmdir "$other"
	fi
	[ -z "$thousand" ] || rm "$thousand"
	[ -z "$mine" ] || umount "$dir"
}
trap cleanup EXIT
# A signal alone does not run the trap of EXIT in each shell.
trap 'exit 1' HUP INT TERM

result()
{
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr $2"
	else
		echo "not ok $nr $2"
		failed=1
	fi
}

# is FILE TEXT: the file reads TEXT
is()
{
	if [ "$(cat "$d/$1" 2>&1)" = "$2" ]; then
		return 0
	fi
	echo "# $1 is '$(cat "$d/$1" 2>&1)', not '$2'"
	return 1
}

# has FILE PATTERN: a line of the file matches
has()
{
	if grep -q -e "$2" "$d/$1"; then
		return 0
	fi
	echo "# there is no '$2' in $1:"
	sed 's/^/# /' "$d/$1"
	return 1
}

# eventually COMMAND...: the command succeeds within a minute or so
eventually()
{
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || return 1
		sleep 0.1
	done
}

# put TEXT FILE
put()
{
	echo "$1" 2>/dev/null >"$d/$2"
}

# refused TEXT FILE ERROR [REASON]: the write fails, and error_log ends with REASON
refused()
{
	# A shell may not tell the error, cat does.
	said=$(echo "$1" | cat 2>&1 >"$d/$2")
	case $said in
	*"$3"*) ;;
	*)
		echo "# '$1' to $2: $said, not $3"
		return 1
		;;
	esac
	[ -n "$4" ] || return 0
	case $(tail -n 1 $dir/error_log) in
	*"${d##*/}/$2: $4"*) ;;
	*)
		echo "# error_log: $(tail -n 1 $dir/error_log), not $4"
		return 1
		;;
	esac
}

status()
{
	sed -n "s/^$1: //p" "$d/status"
}

echo "TAP version 13"
if ! grep -qw perffs /proc/filesystems; then
	echo "1..0 # SKIP the kernel has no perffs"
	exit 4
fi
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 4
fi
if ! [ -e $dir/README ]; then
	mount -t perffs perffs $dir || exit 1
	mine=1
fi

d=$dir
has README '^NAME/events ' && has README '^NAME/status '
result $? "README says what there is"

#
# mkdir and rmdir
#

d=$dir/$ns
mkdir "$d" && [ "$(cat "$d/enabled")" = 0 ] && [ "$(status state)" = new ] &&
	is events "" && is buffer_size 524288 && is snapshot "" && is keep 8 && is spares 0 &&
	[ ! -e "$d/per_cpu" ]
result $? "mkdir makes an empty namespace"

! mkdir "$d" 2>/dev/null
result $? "mkdir of what exists"

! mkdir "$dir/$ns.1" 2>/dev/null && ! mkdir "$dir/Ns" 2>/dev/null &&
	! mkdir "$d/sub" 2>/dev/null &&
	tail -n 1 $dir/error_log | grep -q "mkdir: 'Ns': not a valid name"
result $? "mkdir of what is no name"

[ ! -e "/sys/bus/event_source/devices/persistent/events/$ns" ]
result $? "it is not to be found yet"

rmdir "$d" && [ ! -e "$d" ] && mkdir "$d"
result $? "rmdir, and mkdir again"

#
# Events and buffers, before it records
#

put 'cpu-clock/freq=99,callchain/' events && put 'sched:sched_process_exec if pid > 0' events &&
	is events 'cpu-clock/freq=99,callchain/
sched:sched_process_exec/period=1/ if pid > 0'
result $? "add two events"

put '!cpu-clock/callchain,freq=99/' events &&
	is events 'sched:sched_process_exec/period=1/ if pid > 0'
result $? "take one away"

printf '# a comment\ncs/period=7/\nsched:sched_process_f*\n' >>"$d/events" &&
	has events '^context-switches/period=7/$' &&
	has events '^sched:sched_process_fork/period=1/$' &&
	put '!cs/period=7/' events && put '!sched:sched_process_f*' events &&
	is events 'sched:sched_process_exec/period=1/ if pid > 0'
result $? "patterns, and several lines"

old='sched:sched_process_exec/period=1/ if pid > 0'
put 'cpu-clock/period=7,name=x/' events && put 'cpu-clock/period=7/' events &&
	put 'cpu-clock/period=7,name=y/' events && put '!cpu-clock/period=7,name=y/' events &&
	put '!cpu-clock/period=7/' events && is events "$old
cpu-clock/period=7,name=x/" &&
	refused '!cpu-clock/period=7,name=z/' events 'No such file' "'cpu-clock/" &&
	put '!cpu-clock/period=7/' events && is events "$old"
result $? "take away what has a name"

refused "cpu-clock/name=$(printf 'x\302\205y')/" events 'Invalid' "'name=x" && is events "$old"
result $? "a name that is more than text"

# Its last byte, A0, is a blank in other character sets.
word=$(printf 'voil\303\240')
d=$dir/$ns-2
mkdir "$d" && put "cpu-clock/period=7,name=$word/" events &&
	is events "cpu-clock/period=7,name=$word/" &&
	put "!cpu-clock/period=7,name=$word/" events && is events ""
result $? "a name in UTF-8"

put "sched:sched_process_exec if comm == $word" events &&
	is events "sched:sched_process_exec/period=1/ if comm == $word" &&
	put "!sched:sched_process_exec if comm == $word" events && is events ""
result $? "a filter that ends with it"
rmdir "$d"
d=$dir/$ns

refused cpu-clok events 'No such file' "'cpu-clok': no such event" &&
	refused cpu-clock/perid=1/ events 'Invalid' "'perid=1': not one of" &&
	refused 'cpu-clock fi' events 'Invalid' "'fi': only 'if FILTER'" &&
	refused 'sched:sched_process_exec if pid > 0' events 'exists' \
		"'sched:sched_process_exec'" &&
	refused '!cpu-clock' events 'No such file' "'cpu-clock': the namespace has no" &&
	is events 'sched:sched_process_exec/period=1/ if pid > 0'
result $? "events that are wrong"

old='sched:sched_process_exec/period=1/ if pid > 0'
refused "cs/period=5/
!$old
cpu-clok" events 'No such file' "'cpu-clok': no such event" && is events "$old"
result $? "no line takes effect if one is wrong"

#
# Limits
#

d=$dir/$ns-2
mkdir "$d"
thousand=$(mktemp)
i=0
while [ $i -lt 1024 ]; do
	i=$((i + 1))
	echo "cpu-clock/period=$i/"
done >"$thousand"
# With dd, all lines are one write.
dd if="$thousand" of="$d/events" bs=64k 2>/dev/null && [ "$(wc -l <"$d/events")" = 1024 ] &&
	refused cs events 'too long' "'cs': the namespace would have more than 1024 events" &&
	[ "$(cksum <"$d/events")" = "$(cksum <"$thousand")" ]
result $? "no more than 1024 events"
rm "$thousand"
thousand=
rmdir "$d"

# Some kernels have fewer tracepoints.
mkdir "$d"
all=/sys/kernel/tracing/available_events
if [ -r $all ] && [ "$(wc -l <$all)" -gt 1100 ]; then
	refused '*:*' events 'too long' "'*:*': matches more than 1024 events" && is events ""
	result $? "no pattern that matches more"
fi

# NULs end the text.
dd if=/dev/zero of="$d/events" bs=65536 count=1 2>/dev/null && is events "" &&
	case $(dd if=/dev/zero of="$d/events" bs=65537 count=1 2>&1) in
	*'too long'*) ;;
	*) false ;;
	esac
result $? "no write of more than 64K"
rmdir "$d"
d=$dir/$ns

# Append: opening the file with O_TRUNC deletes the probes of others.
if [ -w $probes ]; then
	probe=$ns/gone
	echo "p:$probe kernel_clone" >>$probes && put "$ns:gone" events &&
		echo "-:$probe" >>$probes && probe='' && is events "$old
$ns:gone/period=1/" && put "!$ns:gone/period=1/" events && is events "$old"
	result $? "take away what is gone"
fi

put 64K buffer_size && is buffer_size 65536 && put 5000 buffer_size && is buffer_size 8192 &&
	refused 0 buffer_size 'Invalid' "'0': not a size" &&
	refused 1Mb buffer_size 'Invalid' "'1Mb': not a size" &&
	refused 9999999999999G buffer_size 'Invalid' && put 64K buffer_size
result $? "buffer_size"

refused 1 snapshot 'busy' "'1': write 1 to 'enabled' first" &&
	refused 1 spares 'busy' "'1': write 1 to 'enabled' first" && put 3 keep && is keep 3
result $? "what it cannot do yet"

put 'sched:sched_process_exit if nonsense == 1' events &&
	refused 1 enabled 'Invalid' "'sched:sched_process_exit': fails on CPU 0: " &&
	[ "$(status state)" = new ] && put '!sched:sched_process_exit if nonsense == 1' events
result $? "a filter that is wrong"

put 'cpu-clock/freq=1999999999/' events &&
	refused 1 enabled 'Invalid' "'cpu-clock': freq= is more than" &&
	put '!cpu-clock/freq=1999999999/' events
result $? "a frequency that is too high"

old_max=$(cat $max)
echo 1 >$max && ! mkdir "$d-2" 2>/dev/null &&
	tail -n 1 $dir/error_log | grep -q '] mkdir: failed with -' &&
	refused 1 enabled 'No space' &&
	echo "$old_max" >$max && mkdir "$d-2" && rmdir "$d-2" && [ "$(status state)" = new ]
result $? "no more than the sysctl allows"
echo "$old_max" >$max
old_max=

refused maybe enabled 'Invalid' "'maybe': neither 0 nor 1" && put 0 enabled && is enabled 0
result $? "enabled is 0 or 1"

! printf '1\000x' 2>/dev/null >"$d/enabled" && is enabled 0 &&
	tail -n 1 $dir/error_log | grep -q "/enabled: '1': a NUL byte"
result $? "nothing may follow a NUL"

#
# Recording
#

put 'page-faults/period=1/' events && put 1 enabled && is enabled 1 &&
	[ "$(status state)" = enabled ] &&
	[ -e "/sys/bus/event_source/devices/persistent/events/$ns" ] &&
	set -- "$d"/per_cpu/cpu*/text && [ $# = "$(grep -c '^processor' /proc/cpuinfo)" ]
result $? "let it record"

is events 'sched:sched_process_exec/period=1/ if pid > 0
page-faults/period=1/' && is buffer_size 65536
result $? "it is what was asked for"

refused cs events 'busy' "'$ns': already started" &&
	refused 1M buffer_size 'busy' "'1M': already started"
result $? "what cannot be changed any more"

# Buffers of 64K are soon full, as each look causes page faults.
has_overwritten()
{
	[ "$(status overwritten)" != "0 bytes" ]
}
eventually has_overwritten && [ "$(status lost)" = "0 records" ]
result $? "it overwrites what is oldest"

put 0 enabled && is enabled 0 && [ "$(status state)" = disabled ] && put 1 enabled &&
	is enabled 1 && refused off enabled 'Invalid' "'off': neither 0 nor 1" && is enabled 1
result $? "stop, and go on"

#
# Snapshots
#

put 1 snapshot && is snapshot "$ns.1" && [ -d "$d.1" ] && [ -e "$d.1/status" ] &&
	[ ! -e "$d.1/enabled" ] && grep -q '^state: snapshot$' "$d.1/status" &&
	! echo cs 2>/dev/null >"$d.1/events" &&
	has events '^sched:sched_process_exec'
result $? "take a snapshot"

# This one has so few records that the busiest machine does not overwrite what is looked for.
d=$dir/$ns-2
text=../$ns-2.1/text
exec='sched:sched_process_exec: filename=/bin/true pid=[0-9]* old_pid=[0-9]*$'
mkdir "$d" && put sched:sched_process_exec events && put 1 enabled && /bin/true &&
	put 1 snapshot &&
	has "$text" "^ *true-[0-9]* *\[[0-9]*\] *[0-9]*\.[0-9]\{6\}: $exec" &&
	has "../$ns.1/text" '^ *[^ ].*-[0-9]* *\[[0-9]*\] .*: page-faults: period=1 ip='
result $? "text has a line for each record"

# Whatever others do meanwhile, each line has the pid of its task.
exec='sched:sched_process_exec: .* pid=\1 old_pid='
has "$text" "^ *true-\([0-9]*\)  *\[.*: $exec" &&
	! grep ': sched:sched_process_exec: ' "$d/$text" |
	grep -v "^ *[^ ].*-\([0-9]*\)  *\[.*: $exec"
result $? "it says which task"
rmdir "$d.1" "$d"
d=$dir/$ns
text=../$ns.1/text

lines=0
for i in "$d.1"/per_cpu/cpu*/text; do
	lines=$((lines + $(wc -l <"$i")))
done
[ "$lines" -gt 0 ] && [ "$lines" = "$(wc -l <"$d.1/text")" ] &&
	[ "$(cksum <"$d.1/text")" = "$(cksum <"$d.1/text")" ]
result $? "a snapshot's text is that of its CPUs, and stays"

# time_of LINE: the time in this line of the text
time_of()
{
	sed -n "$1s/.*\] *\([0-9]*\.[0-9]\{6\}\): .*/\1/p" "$d/$text"
}

[ -n "$(time_of 1)" ] && has "../$ns.1/times" "^oldest: $(time_of 1)\$" &&
	has "../$ns.1/times" "^newest: $(time_of \$)\$" && has times '^oldest: [0-9]' &&
	[ "$(wc -l <"$d/times")" = 2 ]
result $? "times says how far back it reaches"

refused "$ns.1" snapshot 'Invalid' "'$ns.1': neither 0 nor 1" &&
	refused no snapshot 'Invalid' "'no': neither 0 nor 1" && [ -e "$d.1/status" ]
result $? "a word does not delete snapshots"

put 1 snapshot && put 1 snapshot && put 1 snapshot && [ ! -e "$d.1" ] && [ -e "$d.4" ] &&
	put 1 keep && [ ! -e "$d.3" ] && [ -e "$d.4" ] &&
	refused 0 keep 'Invalid' "'0': must be at least 1" &&
	refused 1025 keep 'Invalid' "'1025': not a number"
result $? "keep so many"

put 2 spares && is spares 2 && [ "$(status spares)" = "2 of 2" ] && put 0 spares &&
	refused 65 spares 'Invalid' "'65': not a number"
result $? "spares"

rmdir "$d.4" && [ ! -e "$d.4" ] && put 1 snapshot && put 0 snapshot && is snapshot "" &&
	[ ! -e "$d.5" ]
result $? "delete snapshots"

put 1 snapshot && rmdir "$d" && [ ! -e "$d" ] && [ -e "$d.6" ] && rmdir "$d.6"
result $? "a snapshot outlives what it is of"

[ ! -e "/sys/bus/event_source/devices/persistent/events/$ns" ]
result $? "rmdir deletes it"

#
# Triggers
#

when='sched:sched_process_exec if pid == 1'
mkdir "$d" && put 'cpu-clock/freq=999,callchain/' events && put 64K buffer_size &&
	refused 'panic : stop' triggers 'busy' "'panic : stop': write 1 to" && put 1 enabled &&
	put "$when : snapshot after=200ms cool_down=60s times=2" triggers &&
	put 'panic : stop' triggers && put 'softlockup : stop' triggers &&
	is triggers "$when : snapshot after=200ms cool_down=1m times=2
panic : stop
softlockup : stop"
result $? "add triggers"

refused 'panic' triggers 'Invalid' "'panic': ' : stop' or" &&
	refused 'panic : go' triggers 'Invalid' "'go': neither stop nor" &&
	refused 'panic : snapshot' triggers 'Invalid' "'panic': cannot add" &&
	refused 'softlockup : snapshot' triggers 'Invalid' "'softlockup': cannot add" &&
	refused 'oops : stop after=5' triggers 'Invalid' "'after=5': not a time" &&
	refused 'oops : stop often=5' triggers 'Invalid' "'often=5': not one of" &&
	refused "sched:sched_process_exec if $(printf 'pid == 1 && %.0s' 1 2 3 4 5) pid : stop" \
		triggers 'too long' "'sched:sched_process_exec if pid == 1" &&
	refused 'cpu-clok : stop' triggers 'No such file' "'cpu-clok': no such event" &&
	refused '!oops : stop' triggers 'No such file' "'oops : stop': no such trigger" &&
	refused 'panic : stop' triggers 'exists' "'panic': the namespace has this trigger"
result $? "triggers that are wrong"

eventually grep -q '^ => [a-z_]' "$d/text"
has text ': cpu-clock: period=[0-9]* ip=' && has text '^ => [a-zA-Z_0-9.]*+0x[0-9a-f]*/0x[0-9a-f]*$'
result $? "text has call chains"

put '!panic : stop' triggers && put 'sched:sched_process_exec : stop' triggers &&
	[ "$(status state)" = stopped ] && is stopped 1
result $? "a trigger stops it"

put '!sched:sched_process_exec : stop' triggers && put 1 snapshot && is stopped 1 &&
	[ "$(status state)" = stopped ] && grep -q ': cpu-clock: ' "$d.1/text" &&
	! grep -q ': cpu-clock: ' "$d/text" && put 0 stopped && is stopped 0 &&
	[ "$(status state)" = enabled ] && eventually grep -q ': cpu-clock: ' "$d/text" &&
	rmdir "$d.1"
result $? "a snapshot keeps what was frozen, and then it records again"

put 1 stopped && [ "$(status state)" = stopped ] && put 1 stopped && put 0 stopped &&
	put 0 stopped && [ "$(status state)" = enabled ] &&
	refused maybe stopped 'Invalid' "'maybe': neither 0 nor 1" && rmdir "$d" && mkdir "$d" &&
	refused 1 stopped 'busy' "'1': write 1 to 'enabled' first" && is stopped 0 &&
	put cpu-clock events && put 1 enabled && put 1 snapshot && [ ! -e "$d.1/stopped" ] &&
	rmdir "$d" "$d.1"
result $? "stop and resume by hand"

#
# The highest frequency, which cannot be set if the kernel may not lower it by itself
#

old_rate=$(cat $rate)
if echo 2000 2>/dev/null >$rate; then
	bad='sched:sched_process_exit if nonsense == 1'
	mkdir "$d" && put cpu-clock events && put "$bad" events && lines=$(cat "$d/events") &&
		refused 1 enabled 'Invalid' "'sched:sched_process_exit': fails on CPU 0: " &&
		is events "$lines" && put "!$bad" events && put '!cpu-clock' events && is events ""
	result $? "events stay what they were when they cannot be made"
	rmdir "$d"

	mkdir "$d" && put cpu-clock events && put 64K buffer_size && put 1 enabled &&
		is events 'cpu-clock/freq=2000/'
	result $? "a frequency that was not asked for is lowered"

	refused 'cpu-clock/freq=2001/ : stop' triggers 'Invalid' \
		"'cpu-clock': freq= is more than" && is triggers "" &&
		put 'cpu-clock/freq=2000/ : stop' triggers && put 'cpu-clock : stop' triggers &&
		is triggers 'cpu-clock/freq=2000/ : stop
cpu-clock : stop'
	result $? "triggers at the highest frequency"
	rmdir "$d"
	echo "$old_rate" >$rate
fi
old_rate=

#
# CPUs
#

if [ -w $cpu1 ] && [ "$(cat $cpu1)" = 1 ]; then
	offline=1
	echo 0 >$cpu1
	mkdir "$d" && put cs events && put 1 enabled && [ -e "$d/per_cpu/cpu0" ] &&
		[ ! -e "$d/per_cpu/cpu1" ]
	ok=$?
	echo 1 >$cpu1
	offline=
	[ $ok = 0 ] && eventually grep -qs ': context-switches: ' "$d/per_cpu/cpu1/text"
	result $? "a CPU that comes has its directory"
	rmdir "$d"
fi

#
# Mounts
#

other=$(mktemp -d)
mount -t perffs perffs "$other" && mkdir "$other/$ns" && [ -e "$d/events" ] &&
	rmdir "$d" && [ ! -e "$other/$ns" ]
result $? "one tree, wherever it is mounted"

umount "$other"
! mount -t perffs -o mode=0755 perffs "$other" 2>/dev/null
result $? "a second mount with other options"
rmdir "$other"
other=

if [ -n "$mine" ]; then
	umount $dir && mount -t perffs -o uid=1,gid=2,mode=0750 perffs $dir && mkdir "$d" &&
		[ "$(stat -c '%u %g %a' $dir)" = "1 2 750" ] &&
		[ "$(stat -c '%u %g %a' "$d")" = "1 2 750" ] &&
		[ "$(stat -c '%u %g %a' "$d/events")" = "1 2 640" ] &&
		[ "$(stat -c '%u %g %a' "$d/status")" = "1 2 440" ] &&
		put cs events && put 1 enabled &&
		[ "$(stat -c '%u %g %a' "$d/per_cpu/cpu0")" = "1 2 750" ] &&
		[ "$(stat -c '%u %g %a' "$d/per_cpu/cpu0/text")" = "1 2 440" ] &&
		mount -o remount,uid=3 $dir &&
		[ "$(stat -c '%u %g %a' "$d/per_cpu/cpu0/text")" = "3 2 440" ] && rmdir "$d"
	result $? "uid=, gid= and mode="
	umount $dir && mount -t perffs perffs $dir && [ "$(stat -c '%u %g %a' $dir)" = "0 0 700" ]
	result $? "and none"
fi

echo "1..$nr"
exit $failed
