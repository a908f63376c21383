#!/bin/bash
# perf record --daemon keeps to its limits and copes with a full disk
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the libraries set them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/record_daemon.sh
. "$(dirname "$0")"/lib/record_daemon.sh

parent=

# Limits remove the oldest files, but never the newest one or files of others.
test_limits() {
	touch "$base.sample.mine" "$base.sample.20200101T000000.000000Z" \
		"$base.sample.20200101T000000.000000Z.mine"
	start -a -M 1M --max-files 2
	number 1
	kill -USR1 "$pid"
	eventually "file 1" grep -q "wrote $base.sample" "$log"
	same "files" 2 "$(samples | wc -l)"
	number 2
	kill -USR1 "$pid"
	eventually "the oldest is removed" grep -q "removed $base.sample.20200101T000000.000000Z " "$log"
	number 3
	kill -USR1 "$pid"
	eventually "and the next one" \
		sh -c "[ \"\$(grep -c 'removed $base.sample' '$log')\" -eq 2 ]"
	same "files" 2 "$(samples | wc -l)"
	same "the newest is there" "1 2 3" "$(numbers "$(sample 2)")"
	check "files of other names stay" test -e "$base.sample.mine" \
		-a -e "$base.sample.20200101T000000.000000Z.mine"
	stop TERM
	start -a -M 1M --max-total 1B
	number 1
	kill -USR1 "$pid"
	eventually "all but the newest are removed" \
		sh -c "[ \"\$(grep -c 'removed $base.sample' '$log')\" -eq 2 ]"
	same "the newest is larger, and stays" 1 "$(numbers "$(sample 1)")"
	stop TERM
	clean
	refuse "no files" "--max-files" perf record --daemon -M 1M --max-files 0 -e dummy
	refuse "no size" "--max-total takes a number with a unit" \
		perf record --daemon -M 1M --max-total 0 -e dummy
	refuse "less than nothing" "--max-total takes a number with a unit" \
		perf record --daemon -M 1M --max-total -5B -e dummy
}

# is_trimmed: true if the auxiliary file was rewritten with less than half of its contents
is_trimmed() {
	# shellcheck disable=SC2016 # for awk
	awk '/were still of use/ && $4 * 2 < $6 { seen = 1 } END { exit !seen }' "$log"
}

# Start a task that inherited its name from a parent, which then execs another program
start_heir() {
	mkfifo "$tmp/ask"
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/third" -c '(read -r _ < "$1"; kill -0 $(($2 + 3)); : > "$3") & exec sleep 1000000' \
		- "$tmp/ask" "$number_base" "$tmp/told" 2> /dev/null &
	parent=$!
	eventually "the parent is another program" grep -qx sleep "/proc/$parent/comm"
}

end_parent() {
	[ -z "$parent" ] || kill "$parent" 2> /dev/null
}
at_end end_parent

# Most tasks have no samples and are dropped; tasks with samples must keep their names.
test_trim() {
	local bash i

	bash=$(type -P bash)
	cp "$bash" "$tmp/first"
	cp "$bash" "$tmp/second"
	cp "$bash" "$tmp/third"
	start -a -M "$(($(getconf _NPROCESSORS_ONLN) * $(getconf PAGE_SIZE)))"
	start_heir
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/first" -c 'kill -0 $(($1 + 1)); true' - "$number_base" 2> /dev/null
	dump 1
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/second" -c 'kill -0 $(($1 + 2)); true' - "$number_base" 2> /dev/null
	# Tasks of the last second count as of use, so several rounds may be needed.
	for ((i = 0; i < 100; i++)); do
		! is_trimmed || break
		mark 200
	done
	check "it was written again, and is much smaller" is_trimmed
	dump 2
	same "who is in memory has a name" "first second" "$(comms "$(sample 2)")"
	same "and who is in a file" first "$(comms "$(sample 1)")"
	check "a task that was there before has one" sh -c "perf script -i '$(sample 2)' \
		--show-task-events 2> /dev/null | grep -q PERF_RECORD_COMM:"
	check "of the others there are few" test \
		"$(perf script -i "$(sample 2)" --show-task-events 2> /dev/null |
			grep -c "COMM exec: ${marker##*/}")" -lt $((200 * i))
	echo > "$tmp/ask"
	eventually "the child is in memory" test -e "$tmp/told"
	dump 3
	check "it has the name that its parent had" sh -c \
		"perf script -i '$(sample 3)' -F comm 2> /dev/null | grep -q third"
	same "unfinished files" "" "$(find "$tmp" -name '.*tmp')"
	stop USR2
	same "all of it" "1 2 3" "$(numbers "$base")"
	same "with names" "first third second" "$(comms "$base")"
	clean
}

# The log is on the same disk. A line still fits if the last page of the log has room.
test_full_disk() {
	local dir=$tmp/small

	mkdir "$dir"
	mount -t tmpfs -o size=32m small "$dir" || return
	undo_mount=$dir
	base=$dir/perf.data log=$base.log
	start -a -M 1M
	kill -USR1 "$pid"
	eventually "one before" grep -q "wrote $base.sample" "$log"
	number 1
	head -c 64M /dev/zero > "$dir/full" 2> /dev/null
	kill -USR1 "$pid"
	eventually "it says so" \
		grep -q "Cannot write .*sample.*No space left.*stay in memory" "$log"
	same "unfinished files" "" "$(find "$dir" -name '.*tmp')"
	number 2
	rm "$dir/full" "$base".sample.*
	kill -USR1 "$pid"
	eventually "the next one" grep -q "wrote $base.sample.*(2 samples)" "$log"
	same "nothing is missing" "1 2" "$(numbers "$(echo "$base".sample.*)")"
	check "the names are there" sh -c "perf script -i $base.sample.* -F comm 2> /dev/null |
		grep -q 'record_daemon\|bash'"
	head -c 64M /dev/zero > "$dir/full" 2> /dev/null
	kill -USR1 "$pid"
	eventually "the disk is full again" \
		sh -c "[ \"\$(grep -c 'Cannot write .*sample.*stay in memory' '$log')\" -eq 2 ]"
	stop TERM
	check "in the end that is lost" \
		grep -q "Cannot write .*sample.*The samples in memory are lost" "$log"
	rm "$dir/full"
	base=$tmp/perf.data log=$base.log
	umount "$dir"
	undo_mount=
}

# maps BYTES FILE: write so many bytes of records, each of a map of FILE, on one CPU
maps() {
	taskset -c "$cpu" python3 -c 'import mmap, sys
with open(sys.argv[1]) as f:
	for i in range(int(sys.argv[2])):
		mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)' \
		"$2" $(($1 / (${#2} + 128)))
}

# If memory has no room for the second half of a record, the first half is dropped, too.
test_half_record() {
	local cpu deep name mega=$((1 << 20))

	type -P python3 prlimit > /dev/null ||
		{ echo "no python3 or no prlimit: no half of a record"; return; }
	cpu=$(sed -n 's/^Cpus_allowed_list:\t\([0-9]*\).*/\1/p' /proc/self/status)
	name=$(printf '%0250d' 0)
	deep=$tmp
	while [ ${#deep} -lt 3500 ]; do
		deep=$deep/$name
	done
	mkdir -p "$deep"
	truncate -s 4096 "$deep/file"
	cp "$(type -P bash)" "$tmp/later"
	# The auxiliary file stays smaller than -M, so it is not trimmed.
	start -a -M 64M -m 8M
	maps $((2 * mega)) "$deep/file"
	dump 1
	check "the file gets no more room" prlimit --pid "$pid" --fsize="$(stat -c %s "$aux")":
	# 14M were written to the ring of 8M, and perf has 12M of them in its memory of 16M.
	maps $((12 * mega)) "$deep/file"
	kill -STOP "$pid"
	# These wrap around after 2M, and the rest does not fit.
	maps $((6 * mega)) "$deep/file"
	kill -CONT "$pid"
	# After the second file, perf has read the ring at least once. Both are small enough.
	dump 2
	dump 3
	check "it gets room again" prlimit --pid "$pid" --fsize=unlimited:
	dump 4
	check "data were dropped" \
		grep -q "is written again, [1-9][0-9]* bytes of it were dropped" "$log"
	# shellcheck disable=SC2016 # for the other shell
	"$tmp/later" -c 'kill -0 $(($1 + 1)); true' - "$number_base" 2> /dev/null
	dump 5
	stop USR2
	same "a name that came after that" later "$(comms "$base")"
	same "what is left" "perf.data perf.data.log" "$(parts)"
	rm -rf "${tmp:?}/$name"
	clean
}

# With a limit, the oldest files make room for a new one, but the last file stays.
test_make_room() {
	local dir=$tmp/small i size

	mount -t tmpfs -o size=32m small "$dir" || return
	undo_mount=$dir
	base=$dir/perf.data log=$base.log
	# The formats of many events, which record nothing, are larger than the samples.
	start -a -M 1M --max-total 1G -e 'syscalls:sys_exit_*' --filter "common_pid < 0"
	for i in 1 2 3; do
		number "$i"
		kill -USR1 "$pid"
		eventually "file $i" sh -c "[ \"\$(grep -c 'wrote $base.sample' '$log')\" -eq $i ]"
	done
	head -c 64M /dev/zero > "$dir/full" 2> /dev/null
	number 4
	kill -USR1 "$pid"
	eventually "file 4" sh -c "[ \"\$(grep -c 'wrote $base.sample' '$log')\" -eq 4 ]"
	check "the oldest has made room" grep -q "removed $base.sample" "$log"
	same "the newest has all" "1 2 3 4" \
		"$(numbers "$(find "$dir" -name 'perf.data.sample.*' | sort | tail -n 1)")"
	find "$dir" -name 'perf.data.sample.*' | sort | head -n -1 | xargs -r rm
	head -c 64M /dev/zero >> "$dir/full" 2> /dev/null
	kill -USR1 "$pid"
	eventually "it says that there is no room" grep -q "Cannot write .*stay in memory" "$log"
	same "the only one stays" 1 "$(find "$dir" -name 'perf.data.sample.*' | wc -l)"
	# The samples would fit, but not the header: removing the small files would not help.
	size=$(stat -c %s "$base".sample.*)
	touch "$base.sample.20200101T000000.000000Z" "$base.sample.20200101T000001.000000Z"
	truncate -s "-$((size / 8192 * 4096))" "$dir/full"
	kill -USR1 "$pid"
	eventually "there is still no room" \
		sh -c "[ \"\$(grep -c 'Cannot write .*stay in memory' '$log')\" -eq 2 ]"
	same "all of them stay" 3 "$(find "$dir" -name 'perf.data.sample.*' | wc -l)"
	rm "$dir/full"
	stop TERM
	base=$tmp/perf.data log=$base.log
	umount "$dir"
	undo_mount=
}

# A signal that ends perf must not hide that data were lost.
test_full_end() {
	local dir=$tmp/small perf status=0

	mount -t tmpfs -o size=32m small "$dir" || return
	undo_mount=$dir
	NOTIFY_SOCKET=$tmp/none perf record -o "$dir/perf.data" --daemon --pid-file "$tmp/pid" \
		-a -M 1M -e "$number_event" 2> "$tmp/said" &
	perf=$!
	eventually "it records" grep -qx "$perf" "$tmp/pid"
	head -c 64M /dev/zero > "$dir/full" 2> /dev/null
	mark 200
	kill -TERM "$perf"
	wait "$perf" || status=$?
	same "exit status" $((256 - 28)) "$status"
	check "it is said" grep -q "bytes of data about tasks are lost" "$tmp/said"
	umount "$dir"
	undo_mount=
}

test_limits
test_trim
test_full_disk
test_full_end
test_half_record
test_make_room
exit "$failed"
