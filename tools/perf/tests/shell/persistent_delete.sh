#!/bin/bash
# perf ctl -d and perf record -k delete namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

create() {
	check "create $1" perf record -P "$1" -e cpu-clock -m 1 -C 0
}

test_delete() {
	create "${ns}1"
	create "${ns}2"
	check "delete two" perf ctl -d "${ns}1" "${ns}2"
	check "both are gone" gone "${ns}1"
	check "both are gone" gone "${ns}2"
	create "${ns}1"
	refuse "one of two is not there" "There is no namespace called '${ns}2'" \
	       perf ctl -d "${ns}2" "${ns}1"
	check "the other is deleted" gone "${ns}1"
}

# perf deletes only what it has written. At first the disk has no room at all, then for
# some of the records, then for all of them, but not for what describes the events,
# which perf writes when the events are off already.
test_full_disk() {
	local page more

	page=$(getconf PAGE_SIZE)
	mkdir "$small"
	if ! mount -t tmpfs -o size="$page" none "$small"; then
		fail "no small disk to test with"
		return
	fi
	at_end leave_disk

	# Several tracepoints: the file has their formats after the records.
	check "create" perf record -P "$ns" -e "$exec_event" -e 'block:*' -C 0 -m 16
	taskset -c 0 "$marker"

	full_disk "$page"
	# The records grow from one read to the next.
	for more in -8192 8192 16384 24576 32768; do
		check "read" perf record -e "persistent/$ns/" -o "$data"
		full_disk $(($(end_of_data "$data") + more))
		! grep -q "failed to write the header of" "$tmp/said" || break
	done
	check "all was read when it failed" grep "failed to write the header of" "$tmp/said"

	taskset -c 0 "$marker"
	check "read and delete" perf record -e "persistent/$ns/" -o "$data" -k
	check "it went on" test "$(marks "$data")" -ge 2
	check "it is gone" gone "$ns"
	leave_disk
}

small=$tmp/small
leave_disk() {
	! mountpoint -q "$small" || umount "$small"
}

# The offset of the end of the records in a file: data.offset + data.size of its header
end_of_data() {
	od -An -t u8 -j 40 -N 16 "$1" | awk '{ print $1 + $2 }'
}

full_disk() {
	mount -o remount,size="$1" "$small"
	refuse "room for $1 bytes" "'$ns' is not deleted, and records as before" \
	       perf record -e "persistent/$ns/" -o "$small/data" -k
	rm -f "$small"/data*
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
}

test_kill_command() {
	create "$ns"
	check "delete after a command" perf record -e "persistent/$ns/" -o "$data" -k true
	check "it is gone" gone "$ns"
	create "$ns"
	check "--kill" perf record --kill -e "persistent/$ns/" -o "$data"
	check "it is gone" gone "$ns"
}

# The reader of a pipe may die before it has stored the records, so -k refuses pipes.
test_kill_pipe() {
	create "$ns"
	refuse "-k with -o -" "-k cannot be used with a pipe" \
	       sh -c "perf record -e persistent/$ns/ -o - -k 2> $tmp/err | cat > $tmp/pipe;
		      cat $tmp/err; test ! -s $tmp/err"
	refuse "-k with a pipe on stdout" "-k cannot be used with a pipe" \
	       sh -c "perf record -e persistent/$ns/ -k 2> $tmp/err | cat > $tmp/pipe;
		      cat $tmp/err; test ! -s $tmp/err"
	mkfifo "$tmp/fifo"
	refuse "-k with a path of a pipe" "-k cannot be used with a pipe" \
	       perf record -e "persistent/$ns/" -o "$tmp/fifo" -k
	check "nothing was written" test ! -s "$tmp/pipe"
	check "it is still there" exists "$ns"
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
	# With stdout on a regular file, no reader can lose the records.
	check "-k with -o - to a file" \
	      sh -c "perf record -e persistent/$ns/ -o - -k > $tmp/pipe"
	check "it is gone" gone "$ns"
	check "perf script" perf script -i "$tmp/pipe"
	says "it is in the file" "cpu-clock:"
}

# Somebody else, here the command, deletes the namespace while perf reads it.
test_deleted_meanwhile() {
	create "$ns"
	check "delete what is read" perf record -e "persistent/$ns/" -o "$data" -- \
	      sh -c "perf test -w noploop; perf ctl -d $ns"
	says "it says so" "'$ns' was deleted while it was read"
	check "perf script" perf script -i "$data"
	says "what was recorded before" "cpu-clock:"

	create "$ns"
	check "delete what -k would delete" perf record -e "persistent/$ns/" -o "$data" -k -- \
	      sh -c "perf test -w noploop; perf ctl -d $ns"
	check "perf script" perf script -i "$data"
	says "what was recorded before" "cpu-clock:"
}

probe=
# shellcheck disable=SC2317 # at_end calls it
delete_probe() {
	[ -z "$probe" ] || perf probe -q -d "$probe" 2> /dev/null
	probe=
}
at_end delete_probe

# A probe that a namespace records cannot be deleted, and perf says who may record it.
test_probe() {
	local status=0

	probe=kst_probe_$$
	if ! perf probe -q "$probe=do_exit" > "$tmp/out" 2>&1; then
		echo "[SKIP] no kprobes: $(tail -n 1 "$tmp/out")"
		return
	fi
	check "record a probe" perf record -P "$ns" -e "probe:$probe" -a -m 64K
	refuse "perf probe -d" "'probe:$probe' is in use by a process" \
	       perf probe -d "$probe"
	same "events that are said to be removed" 0 "$(grep -c "Removed event" "$tmp/said")"
	check "take a snapshot" perf ctl -s "$ns"
	check "delete the recorder" perf ctl -d "$ns"
	check "delete the probe" perf probe -q -d "$probe"
	# Nobody can read records that are written without the format of their event.
	refuse "-k of what has no format" "'probe:$probe' does not exist any more" \
	       perf record -e "persistent/$ns.1/" -o "$data" -k
	perf ctl -r "$ns.1" -o "$data" 2> /dev/null || status=$?
	same "exit status" 4 "$status"
	check "the snapshot is still there" exists "$ns.1"
	# perf ctl save skips such a snapshot and does not wait for it.
	refuse "save" "'$ns.1' cannot be saved, and is left out" \
	       timeout 120 perf ctl save "$ns" --to "$tmp/saved"
	check "it ends as nothing is left" \
	      grep -q "'$ns' was deleted.* except those that cannot be" "$tmp/said"
	same "what is saved" "" "$(ls "$tmp/saved")"
	check "delete it" perf ctl -d "$ns.1"
	probe=
}

# perf probe -d of two probes fails if it can delete only one of them.
test_two_probes() {
	probe=kst_probe_$$
	if ! perf probe -q "$probe=do_exit" > "$tmp/out" 2>&1 ||
	   ! perf probe -q -x "$BASH" "$probe=main" > "$tmp/out" 2>&1; then
		echo "[SKIP] no kprobes or uprobes: $(tail -n 1 "$tmp/out")"
		delete_probe
		return
	fi
	check "record one of two" perf record -P "$ns" -e "probe_bash:$probe" -a -m 64K
	refuse "perf probe -d of both" "'probe_bash:$probe' is in use by a process" \
	       perf probe -d "$probe"
	same "what is removed" "Removed event: probe:$probe" "$(grep "Removed" "$tmp/said")"
	check "delete the recorder" perf ctl -d "$ns"
	check "delete the probe" perf probe -q -d "$probe"
	probe=
}

# SIGXFSZ from the kernel must not leave the namespace disabled.
test_file_limit() {
	create "$ns"
	refuse "a limit of the size of files" "'$ns' is not deleted, and records as before" \
	       bash -c "ulimit -f 8; perf record -e 'persistent/$ns/' -o '$data' -k"
	check "list" perf ctl -l "$ns"
	same "state" on "$(column STATE)"
	check "delete it" perf ctl -d "$ns"
}

test_delete
test_probe
test_two_probes
test_file_limit
test_full_disk
test_kill_command
test_kill_pipe
test_deleted_meanwhile
exit "$failed"
