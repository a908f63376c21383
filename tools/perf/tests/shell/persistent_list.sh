#!/bin/bash
# perf ctl -l lists namespaces as text and as JSON (exclusive)
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

page=$(getconf PAGE_SIZE)
# The real interpreter, not a wrapper that selects one of several
python=$(${PYTHON:-python3} -c 'import sys; print(sys.executable)' 2> /dev/null)
[ -n "$python" ] || echo "no python3: --json is not tested"

# Record only the runs of mark, and only on one CPU
only_marks=(-e "$exec_event" --filter "filename == \"$marker\"" -C 0)

mark_on() {
	taskset -c "$1" "$BASH" -c "for ((i = 0; i < $2; i++)); do $marker; done"
}

# All keys with the types of their values. A value may be null if the user may not see it,
# or if there is no such thing.
cat > "$tmp/list.py" << 'EOF_PYTHON'
import json, sys

NONE = type(None)

MEMBER = {
	"id": (int,), "cpu": (int,), "state": (str,), "offline": (bool,),
	"output_id": (int, NONE), "lost": (int,), "missed": (int,),
}
ATTR = {
	"type": (int,), "config": (int,), "config1": (int,), "config2": (int,),
	"sample_period": (int, NONE), "sample_freq": (int, NONE),
	"sample_type": (int,), "read_format": (int,),
}
EVENT = {
	"name": (str, NONE), "sideband": (bool,), "state": (str,), "cpus": [(int,)],
	"cpus_offline": [(int,)], "cpus_missing": [(int,)], "lost": (int,),
	"missed": (int,), "cgroup_id": (int, NONE), "cgroup": (str, NONE),
	"filter": (str, NONE), "attr": ATTR, "members": [MEMBER],
}
BUFFER = {
	"id": (int,), "cpu": (int,), "sideband": (bool,),
	"bytes": (int,), "lost": (int,), "written_bytes": (int,),
	"overwritten_bytes": (int,), "held_bytes": (int, NONE), "records": (int, NONE),
	"oldest_ns": (int, NONE), "newest_ns": (int, NONE),
}
TRIGGER = {
	"number": (int,), "when": (str,), "event": (str, NONE), "do": (str,),
	"events": (int,), "after_ns": (int,), "cool_down_ns": (int,),
	"times": (int, NONE),
	"fired": (int,), "done": (int,), "failed": (int,), "error": (int, NONE),
	"last_fired_ns": (int, NONE), "freeze_ns": (int, NONE), "last_snapshot": (int, NONE),
	"spent": (bool,),
}
NAMESPACE = {
	"name": (str,), "id": (int,), "state": (str,), "all_cpus": (bool,),
	"created_ns": (int,), "age_ns": (int,), "now_ns": (int,),
	"owner": { "uid": (int,), "user": (str, NONE), "comm": (str,) }, "note": (str, NONE),
	"cpus": [(int,)], "cpus_offline": [(int,)], "cpus_missing": [(int,)],
	"buffer_bytes": (int,), "spare_bytes": (int,), "snapshot_bytes": (int,),
	"tasks_bytes": (int,), "memory_bytes": (int,), "lost": (int,), "missed": (int,),
	"overwritten_bytes": (int,),
	"oldest_ns": (int, NONE), "newest_ns": (int, NONE),
	"snapshot": (NONE,), "keep": (int,), "spares": (int,), "last_snapshot": (int, NONE),
	"events": [EVENT], "buffers": [BUFFER], "triggers": [TRIGGER],
}

def compare(what, schema, value):
	if isinstance(schema, dict):
		if not isinstance(value, dict) or list(value) != list(schema):
			sys.exit("%s: %s instead of %s" % (what, value, list(schema)))
		for key in schema:
			compare(what + "." + key, schema[key], value[key])
	elif isinstance(schema, list):
		if not isinstance(value, list):
			sys.exit("%s is not a list: %s" % (what, value))
		for i in range(len(value)):
			compare("%s[%d]" % (what, i), schema[0], value[i])
	elif type(value) not in schema:
		sys.exit("%s is a %s" % (what, type(value)))

def only(values):
	(value,) = values
	return value

top = json.load(open(sys.argv[1], encoding="utf-8"))
compare("the whole", { "version": (int,), "namespaces": [(dict,)] }, top)
ns = only(n for n in top["namespaces"] if n["name"] == sys.argv[2])

if ns["id"] is None:
	compare("withheld", dict.fromkeys(NAMESPACE, (NONE,)) | { "name": (str,) }, ns)
else:
	compare("namespace", NAMESPACE, ns)
	events = [e for e in ns["events"] if not e["sideband"]]
	buffers = [b for b in ns["buffers"] if not b["sideband"]]

for expression in sys.argv[3:]:
	print(eval(expression))
EOF_PYTHON

# ask EXPRESSION...: evaluate them for the namespace in the last --json, one line each in
# $tmp/out
ask() {
	[ -z "$python" ] || check "schema" "$python" "$tmp/list.py" "$tmp/json" "$ns" "$@"
}

# asked WHAT EXPECTED LINE: check LINE of the output of the last ask
asked() {
	[ -z "$python" ] || same "$1" "$2" "$(sed -n "$3p" "$tmp/out")"
}

list_json() {
	check "list for programs" sh -c "perf ctl -l --json $* > $tmp/json"
}

# fits WIDTH: check that no line of the listing is wider
fits() {
	local widest

	widest=$(tr -d '\r' < "$tmp/out" | wc -L)
	if [ "$widest" -le "$1" ]; then
		pass "$widest columns are not more than $1"
	else
		fail "$widest columns are more than $1:"
		cat "$tmp/out"
	fi
}

# An event that hardly ever happens, with a name that most widths cut
long_event=syscalls:sys_enter_rt_tgsigqueueinfo

# list_at_widths STEP WHAT: check that perf ctl -l works at all widths of the terminal
list_at_widths() {
	local width failed_at=

	for ((width = 40; width <= 200; width += $1)); do
		COLUMNS=$width perf ctl -l > "$tmp/out" 2>&1 || failed_at+=" $width"
	done
	same "widths that fail to list $2" "" "$failed_at"
}

test_all_widths() {
	perf list tracepoint 2> /dev/null | grep -q "$long_event" || long_event=$exec_event
	check "create with one event" perf record -P "$ns" -e "$long_event" -a -m 1
	check "list where its name is cut" env COLUMNS=60 perf ctl -l
	says "what fits of it" "${long_event:0:4}[^ ]*\.\."
	check "create with two" perf record -P "${ns}2" -e "$long_event,cpu-clock" -a -m 1
	check "create with many" perf record -P "${ns}_of_many_events" -a -m 1 \
	      -e "$long_event,cpu-clock,task-clock,page-faults,minor-faults,major-faults"
	check "take snapshots" perf ctl -s "$ns" "${ns}2" "${ns}_of_many_events"
	list_at_widths 1 "events of all kinds"
	check "delete" perf ctl -d "$ns" "${ns}2" "${ns}_of_many_events" \
	      "$ns.*" "${ns}2.*" "${ns}_of_many_events.*"
}

test_width() {
	local events="cpu-clock,task-clock,page-faults,minor-faults,major-faults,cpu-migrations"
	local long

	long=$(printf '%s_%047d' "$prefix" 0)
	long=${long:0:47}
	check "create with a long name" perf record -P "$long" -e "$events" -C 0 -m 1
	check "create" perf record -P "$ns" -e "$events" -C 0 -m 1

	check "list" env COLUMNS=80 perf ctl -l
	fits 80
	says "the long name is whole" "^$long$"
	says "its events are counted" "^  *on  *cpu-clock.*(+[1-5])  *0 "
	says "the other one is in a line" "^$ns  *on  *cpu-clock.*(+[1-5])  *0 "
	check "list one" env COLUMNS=80 perf ctl -l "$long"
	fits 80

	check "list into a file" perf ctl -l
	fits 132
	check "list where there is room" env COLUMNS=300 perf ctl -l
	says "all events" "^$long  *on  *$events  *0 "
	check "list where there is none" env COLUMNS=1 perf ctl -l

	if type -P script > /dev/null; then
		check "list in a terminal" \
		      script -qec "stty cols 80 rows 25; perf ctl -l" /dev/null
		fits 80
		says "its events are counted" "^$ns  *on  *cpu-clock.*(+[1-5])  *0 "
	fi
	check "delete" perf ctl -d "$long" "$ns"
}

test_details() {
	check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock -C 0 -m 16
	mark_on 0 1

	check "list one" perf ctl -l "$ns"
	says "the namespace" "^$ns  *on  *$exec_event,cpu-clock  *0 "
	says "the event that has the buffer" "^$exec_event  *on  *0  *$((16 * page / 1024))K  *0$"
	says "the one that shares it" "^cpu-clock  *on  *0  *shared  *0$"
	says "tasks and maps" "^(tasks and maps)  *on  *0[^ ]*  *[0-9]*K  *0$"
	says "the buffer" "^0  *events  *$((16 * page / 1024))K  *[0-9]*%  *[0-9.]*s  *[0-9.]*s "
	same "attrs" 0 "$(grep -c "sample_type:" "$tmp/out")"

	check "list all of all" perf ctl -l -v
	says "the namespace" "^$ns  *on  *$exec_event,cpu-clock  *0 "
	says "members" "^[1-9][0-9]*  *0  *on  *[1-9][0-9]*  *0  *cpu-clock$"
	says "attrs" "^cpu-clock: type: 1 .*sample_type: .*TIME"

	refuse "no such namespace" "There is no namespace called '${ns}_not'" perf ctl -l "${ns}_not"
	check "what may be meant" grep -q "Did you mean '$ns'" "$tmp/said"
	refuse "JSON of none" "There is no namespace called" perf ctl -l --json "${ns}_not"
	refuse "JSON of what is not a listing" "Usage" perf ctl -d --json "$ns"
	check "delete" perf ctl -d "$ns"
}

# In a container that was migrated from another host, CLOCK_BOOTTIME differs from the host's.
test_time_namespace() {
	unshare -T --boottime 1000000 --fork true 2> /dev/null ||
		{ echo "no time namespaces: not tested"; return; }
	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	check "list" unshare -T --boottime 1000000 --fork perf ctl -l "$ns"
	check "it is young: $(column AGE)" sh -c "echo '$(column AGE)' | grep -q '^[0-9]*s$'"
	check "delete" perf ctl -d "$ns"
}

# The listing of the records agrees with the records that are read.
test_records() {
	local first last nr

	check "create" perf record -P "$ns" "${only_marks[@]}" -m 1
	mark_on 0 3
	list_json --contents "$ns"
	ask 'ns["state"]' 'ns["cpus"]' 'ns["owner"]["uid"], ns["owner"]["comm"]' \
	    '[e["name"] for e in events]' 'only(buffers)["bytes"]' 'ns["lost"]' \
	    'ns["overwritten_bytes"]' 'only(buffers)["records"]' \
	    'sum(b["bytes"] for b in ns["buffers"]) == ns["buffer_bytes"]' \
	    'only(events)["members"][0]["id"] == only(buffers)["id"]' \
	    'only(buffers)["written_bytes"] == only(buffers)["held_bytes"] > 0' \
	    'ns["oldest_ns"] < ns["newest_ns"] <= ns["now_ns"]' 'top["version"]' \
	    'ns["now_ns"] - ns["oldest_ns"] < ns["age_ns"]'
	asked "state" "on" 1
	asked "CPUs" "[0]" 2
	asked "owner" "(0, 'perf')" 3
	asked "events" "['$exec_event']" 4
	asked "size of the buffer" "$page" 5
	asked "lost" 0 6
	asked "overwritten" 0 7
	asked "records" 3 8
	asked "all buffers are the total" True 9
	asked "the event has the buffer" True 10
	asked "nothing that was written is gone" True 11
	asked "times are in order" True 12
	asked "version" 1 13
	asked "no record is older than the namespace" True 14

	check "read" perf record -e "persistent/$ns/" -o "$data"
	first=$(perf script -i "$data" -F time --ns | sed -n '1s/[ .:]//gp')

	# More records than the buffer has room for
	mark_on 0 $((page / 32))
	list_json --contents "$ns"
	check "read" perf record -e "persistent/$ns/" -o "$data"
	perf script -i "$data" -F time --ns | sed 's/[ .:]//g' > "$tmp/times"
	last=$(tail -n 1 "$tmp/times")
	nr=$(wc -l < "$tmp/times")
	check "some is overwritten" test "$nr" -lt $((page / 32))
	check "what came first is" test "$(head -n 1 "$tmp/times")" -gt "$first"
	ask 'only(buffers)["oldest_ns"]' 'only(buffers)["newest_ns"]' 'only(buffers)["records"]' \
	    'ns["overwritten_bytes"] == only(buffers)["overwritten_bytes"]' \
	    'only(buffers)["written_bytes"] - only(buffers)["bytes"] == ns["overwritten_bytes"]' \
	    'ns["overwritten_bytes"] > 0' \
	    'only(buffers)["bytes"] / 2 < only(buffers)["held_bytes"] <= only(buffers)["bytes"]'
	asked "the oldest record" "$(head -n 1 "$tmp/times")" 1
	asked "the newest record" "$last" 2
	asked "records" "$nr" 3
	asked "overwritten in all" True 4
	asked "overwritten" True 5
	asked "held" True 6

	check "list" perf ctl -l "$ns"
	says "overwritten" "^0  *events  *$((page / 1024))K  *[0-9]*%  .*s  *[1-9][0-9]*[BK]  *0$"
	check "delete" perf ctl -d "$ns"
}

# Without --contents, perf does not read the records, and shows nothing from them.
test_no_contents() {
	check "create" perf record -P "$ns" "${only_marks[@]}" -m 1
	mark_on 0 3
	list_json "$ns"
	ask 'only(buffers)["held_bytes"]' 'only(buffers)["records"]' 'only(buffers)["oldest_ns"]' \
	    'ns["oldest_ns"]' 'ns["newest_ns"]' 'ns["now_ns"] > 0' \
	    'only(buffers)["bytes"] > only(buffers)["written_bytes"] > 0' \
	    'ns["overwritten_bytes"]'
	for i in 1 2 3 4 5; do
		asked "what is in there" None "$i"
	done
	asked "the time" True 6
	asked "what the kernel knows" True 7
	asked "overwritten" 0 8
	refuse "--contents of what is not a listing" "--contents belongs to -l" \
	       perf ctl -d --contents "$ns"
	check "delete" perf ctl -d "$ns"

	type -P strace > /dev/null || { echo "no strace: what is read is not tested"; return; }
	check "create one that is large" perf record -P "$ns" -e "$exec_event" -C 0 -m 65M
	mark_on 0 1
	same "buffers mapped for JSON" 0 "$(mapped -l --json "$ns")"
	same "buffers mapped for people" 0 "$(mapped -l "$ns")"
	check "list" perf ctl -l "$ns"
	says "the buffer" "^0  *events  *128M  *0%  *-  *-  *0B  *0$"
	says "what to do" "use --contents"
	check "they are when asked for" test "$(mapped -l --contents "$ns")" -gt 0
	check "list with contents" perf ctl -l --contents "$ns"
	says "the buffer" "^0  *events  *128M  *0%  *[0-9.ms]*s  *[0-9.ms]*s  *0B  *0$"
	check "delete" perf ctl -d "$ns"
}

# mapped OPTION...: the number of large buffers that perf ctl maps to read them
mapped() {
	strace -f -qq -o "$tmp/trace" -e trace=mmap perf ctl "$@" > "$tmp/out" 2>&1
	grep -c 'mmap(NULL, [0-9]\{9\}, .*MAP_SHARED' "$tmp/trace"
}

# One line for the buffers of all CPUs; with -v, one for each CPU
test_lines() {
	local nr_cpus

	nr_cpus=$(getconf _NPROCESSORS_ONLN)
	[ "$nr_cpus" -gt 1 ] || { echo "one CPU: not tested"; return; }
	check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock -a -m 1
	check "list one" perf ctl -l "$ns"
	same "lines about buffers" 2 "$(grep -c '  *\(events\|tasks\)  *[0-9]*[KM]' "$tmp/out")"
	says "of all CPUs" \
	     "^$(cat /sys/devices/system/cpu/online)  *events  *$((nr_cpus * page / 1024))K "
	check "list each" perf ctl -l -v "$ns"
	same "lines about buffers" $((2 * nr_cpus + 2)) \
	     "$(grep -c '^[0-9-]*  *\(events\|tasks\)  *[0-9]*[KM]' "$tmp/out")"
	says "of the last CPU" "^$((nr_cpus - 1))  *events  *$((page / 1024))K "
	check "delete" perf ctl -d "$ns"
}

root=
# shellcheck disable=SC2317 # at_end calls it
no_pids() {
	echo -pids > "$root/cgroup.subtree_control"
}

# Events of a cgroup are listed with its path.
test_cgroup() {
	root=$(awk '$3 == "cgroup2" { print $2 }' /proc/mounts | head -n 1)
	if [ -z "$root" ] || ! grep -qw pids "$root/cgroup.controllers"; then
		echo "no cgroup v2: not tested"
		return
	fi
	# Cgroups have events as soon as any controller is enabled for them.
	if [ -z "$(cat "$root/cgroup.subtree_control")" ]; then
		echo +pids > "$root/cgroup.subtree_control"
		at_end no_pids
	fi
	mkdir "$root/$ns"
	check "create" perf record -P "$ns" -e cpu-clock -a -G "$ns" -m 1
	check "list" perf ctl -l "$ns"
	says "its cgroup" "^cpu-clock  *on  *[0-9-]*  *[0-9]*K  *0  */$ns$"
	list_json "$ns"
	ask 'events[0]["cgroup"]' 'events[0]["cgroup_id"] > 0'
	asked "cgroup" "/$ns" 1
	asked "its id" True 2
	rmdir "$root/$ns"
	check "delete" perf ctl -d "$ns"

	mkdir "$root/$ns"$'\e[7m'
	check "create" perf record -P "$ns" -e cpu-clock -a -G "$ns"$'\e[7m' -m 1
	check "list" perf ctl -l "$ns"
	says "a name that does not control the terminal" "  */$ns?\[7m$"
	rmdir "$root/$ns"$'\e[7m'
	check "delete" perf ctl -d "$ns"
}

# The filter of a tracepoint is listed.
test_filter() {
	check "create" perf record -P "$ns" -e "$exec_event" --filter "pid != 7" -e cpu-clock \
	      -a -m 1
	check "list" perf ctl -l "$ns"
	says "its filter" "^Filter of $exec_event: pid != 7$"
	same "of one event" 1 "$(grep -c "^Filter of" "$tmp/out")"
	list_json "$ns"
	ask '[e["filter"] for e in events if e["name"] == "'"$exec_event"'"][0]' \
	    '[e["filter"] for e in events if e["name"] == "cpu-clock"][0]'
	asked "filter" "pid != 7" 1
	asked "no filter" None 2
	check "delete" perf ctl -d "$ns"
}

# The width of UTF-8 text is counted in characters, not in bytes.
test_utf8() {
	local name=$'\xc3\xa4\xc3\xb6\xc3\xbc'

	check "create" perf record -P "$ns" -e "$exec_event" -C 0 -m 1
	check "add a trigger" perf ctl -t "$ns" --when "$exec_event" --do stop \
	      --filter "filename == \"$name\""
	check "list" perf ctl -l "$ns"
	same "where the third column is" \
	     "$(awk '$1 == "NR" { print index($0, " DO") }' "$tmp/out")" \
	     "$(sed -n "s/$name/aou/p" "$tmp/out" | awk '/ stop/ { print index($0, " stop") }')"
	check "delete" perf ctl -d "$ns"
}

# The memory includes spares and snapshots.
test_memory() {
	check "create" perf record -P "$ns" -e "$exec_event" -C 0 -m 16
	check "take a snapshot" perf ctl -s "$ns"
	check "take another one" perf ctl -s "$ns"
	check "have spares" perf ctl --spares 3 "$ns"
	list_json ""
	ask 'ns["spare_bytes"] == 3 * ns["buffer_bytes"]' \
	    'ns["snapshot_bytes"] == 2 * ns["buffer_bytes"]' \
	    'ns["memory_bytes"] == 6 * ns["buffer_bytes"] + ns["tasks_bytes"] > 0'
	asked "spares" True 1
	asked "snapshots" True 2
	asked "all" True 3
	check "list" perf ctl -l "$ns"
	says "what it is made of" "^Memory: .* in all: .* of buffers, .* of tasks, .* of spares, .* of snapshots\.$"
	check "list all" perf ctl -l
	says "the sum" "^Memory of all, with spares: [0-9]"
	check "delete" perf ctl -d "$ns" "$ns.*"
}

# shellcheck disable=SC2317 # check calls it
# set_enabled ENABLED ID EVENT_ID: enable or disable one event, or all if EVENT_ID is 0
set_enabled() {
	"$python" - "$@" << 'EOF_PYTHON'
import ctypes, fcntl, os, struct, sys

NR = { "x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331 }
with open("/sys/bus/event_source/devices/persistent/type") as f:
	pmu = int(f.read())

attr = bytearray(128)
struct.pack_into("=IIQ", attr, 0, pmu, len(attr), int(sys.argv[2]))
struct.pack_into("=QQ", attr, 56, int(sys.argv[3]), 1)
fd = ctypes.CDLL(None, use_errno=True).syscall(NR[os.uname().machine],
	(ctypes.c_char * len(attr)).from_buffer(attr), -1, -1, -1, ctypes.c_ulong(0))
if fd < 0:
	sys.exit(os.strerror(ctypes.get_errno()))
fcntl.ioctl(fd, 0x2400 if sys.argv[1] == "1" else 0x2401, 0)
EOF_PYTHON
}

test_off() {
	local id member

	case $python:$(uname -m) in
	:* | *:mips* | *:ppc | *:alpha | *:parisc* | *:sparc*)
		echo "no way to disable events here: not tested"
		return ;;
	esac

	check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock -C 0 -m 1
	list_json "$ns"
	ask 'ns["id"]' 'events[1]["members"][0]["id"]'
	id=$(sed -n 1p "$tmp/out")
	member=$(sed -n 2p "$tmp/out")

	check "disable it" set_enabled 0 "$id" 0
	check "list" perf ctl -l "$ns"
	same "state" off "$(column STATE)"

	check "enable one of two" set_enabled 1 "$id" "$member"
	check "list" perf ctl -l "$ns"
	says "partly off" "^$ns  *partly off  "
	says "the one" "^cpu-clock  *on  "
	says "the other" "^$exec_event  *off  "
	list_json "$ns"
	ask 'ns["state"]' '[e["state"] for e in events]' 'events[0]["members"][0]["state"]'
	asked "state" "partly off" 1
	asked "states of events" "['off', 'on']" 2
	asked "state of a member" off 3
	check "delete" perf ctl -d "$ns"
}

# A CPU that is offline, and one that came online when the limit left no room for its events
test_cpus() {
	local nr_cpus last others

	nr_cpus=$(getconf _NPROCESSORS_ONLN)
	last=$((nr_cpus - 1))
	online=/sys/devices/system/cpu/cpu$last/online
	if [ "$nr_cpus" = 1 ] || ! [ -w "$online" ]; then
		echo "no CPU can be taken offline: not tested"
		return
	fi
	at_end all_back

	check "create" perf record -P "$ns" -e "$exec_event" -a -m 1
	echo 0 > "$online"
	others=$(cat /sys/devices/system/cpu/online)
	check "list" perf ctl -l "$ns"
	says "state" "^$ns  *on, partly offline  "
	list_at_widths 8 "what is partly offline"
	list_json "$ns"
	ask 'ns["cpus_offline"]' 'ns["cpus_missing"]' 'len(ns["cpus"])' \
	    '[m["cpu"] for m in only(events)["members"] if m["offline"]]'
	asked "offline" "[$last]" 1
	asked "missing" "[]" 2
	asked "CPUs" "$nr_cpus" 3
	asked "members offline" "[$last]" 4
	check "delete" perf ctl -d "$ns"

	check "create" perf record -P "$ns" -e "$exec_event" -a -m 1
	max=$(cat "$max_persistent")
	echo 1 > "$max_persistent"
	echo 1 > "$online"
	check "list" perf ctl -l "$ns"
	same "CPUs" "$others(-$last)" "$(column CPUS)"
	list_json "$ns"
	ask 'ns["cpus_offline"]' 'ns["cpus_missing"]' 'only(events)["cpus_missing"]'
	asked "offline" "[]" 1
	asked "missing" "[$last]" 2
	asked "missing in an event" "[$last]" 3
	check "delete" perf ctl -d "$ns"
	all_back

	check "create on one CPU" perf record -P "$ns" -e "$exec_event" -C 0 -m 1
	check "list" perf ctl -l "$ns"
	same "what nobody asked for is not missing" 0 "$(column CPUS)"
	check "delete" perf ctl -d "$ns"
}

all_back() {
	max_back
	echo 1 > "$online"
}

# The name of a program may have any bytes.
test_owner() {
	# A valid UTF-8 character, an invalid byte, and a valid control character
	local name=$'q"\\\xc3\xa9\xff\xc2\x9b'

	ln -s "$(type -P perf)" "$tmp/$name"
	check "create" "$tmp/$name" record -P "$ns" -e cpu-clock -C 0 -m 1
	check "list" perf ctl -l "$ns"
	says "what controls a terminal is not printed" $'(q"\\\\\xc3\xa9???)'
	list_json ""
	ask 'ascii(ns["owner"]["comm"])'
	asked "owner" "'q\"\\\\\\xe9\\ufffd\\x9b'" 1
	check "nor is it in JSON" grep -qF '\u009b' "$tmp/json"
	check "delete" perf ctl -d "$ns"
}

test_nobody() {
	local as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$tmp/perf")

	type -P setpriv > /dev/null || { echo "no setpriv: not tested"; return; }
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] ||
		{ echo "anybody may see all: not tested"; return; }
	# The user nobody may have no access to the directory of perf.
	chmod 755 "$tmp"
	cp "$(type -P perf)" "$tmp/perf"
	if ! "${as[@]}" version > "$tmp/out" 2>&1; then
		echo "nobody cannot run perf: not tested"
		return
	fi

	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	check "list as nobody" "${as[@]}" ctl -l
	says "the name, and nothing else" "^$ns  *-  *-  *-  *-  *-  *-$"
	check "list all of all as nobody" "${as[@]}" ctl -l -v
	says "the name, and nothing else" "^$ns  *-  *-  *-  *-  *-  *-$"
	refuse "list one as nobody" "No permission to open the namespace '$ns'" \
	       "${as[@]}" ctl -l "$ns"
	check "list for programs as nobody" sh -c "${as[*]} ctl -l --json > $tmp/json"
	ask 'ns["id"]'
	asked "nothing but the name" None 1
	check "delete" perf ctl -d "$ns"
}

test_none() {
	if [ -n "$(ls "$persistent_pmu/events")" ]; then
		echo "there are namespaces: not tested"
		return
	fi
	check "an empty list" perf ctl -l
	same "lines" 0 "$(wc -l < "$tmp/out")"
	if type -P script > /dev/null; then
		check "an empty list on a terminal" script -qec "perf ctl -l" /dev/null
		says "that it is empty" "^There are no namespaces"
	fi
	[ -z "$python" ] || check "an empty list for programs" sh -c \
		"perf ctl -l --json | $python -c 'import json, sys; 1 / (json.load(sys.stdin) == {\"version\": 1, \"namespaces\": []})'"
}

test_all_widths
test_width
test_details
test_time_namespace
test_records
test_no_contents
test_lines
test_cgroup
test_filter
test_utf8
test_memory
test_off
test_cpus
test_owner
test_nobody
test_none
exit "$failed"
