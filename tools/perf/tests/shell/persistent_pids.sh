#!/bin/bash
# no wrong task names when read in another pid namespace
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require

in_pid_ns=(unshare --pid --fork --mount-proc)
"${in_pid_ns[@]}" true 2> /dev/null || skip "no pid namespaces"

inside=$tmp/inside_$$
cp "$(type -P bash)" "$inside"

# The sampled task is older than the namespace of events, so no record in the buffers has
# its name. Low pids exist both inside and outside of the pid namespace.
cat > "$tmp/make" << EOF_SCRIPT
mkfifo $tmp/go
$inside -c 'read -r < $tmp/go; for ((i = 0; i < 300000; i++)); do :; done' &
perf record -P $ns -e cpu-clock/freq=999/ -a
echo > $tmp/go
wait
EOF_SCRIPT

# names FILE: the names of the sampled tasks, each with its pid
names() {
	perf script -i "$1" -F comm,pid 2> /dev/null | awk '{ print $1, $NF }' | sort -u
}

test_container() {
	check "create in a pid namespace" "${in_pid_ns[@]}" bash "$tmp/make"
	check "read outside" perf ctl -r "$ns" -o "$data"
	says "it says so" "'$ns' has pids of another pid namespace"
	same "how often" 1 "$(grep -c "another pid namespace" "$tmp/out")"
	names "$data" > "$tmp/names"
	check "what was in there" grep -q "^${inside##*/} " "$tmp/names"
	# Only these can be in the file: the task itself, its creators, and tasks from outside
	same "other names" "" "$(grep -v -e "^${inside##*/} " \
		-e '^\(bash\|perf\|perf-exec\|swapper\|:-1\) ' "$tmp/names")"
	refuse "with other events" "pids of another pid namespace than other events" \
	       perf record -e "persistent/$ns/" -e cpu-clock -o "$data" true
	check "delete" perf ctl -d "$ns"
	rm "$tmp/go"
}

test_host() {
	check "create" bash "$tmp/make"
	check "read in a pid namespace" "${in_pid_ns[@]}" perf ctl -r "$ns" -o "$data"
	says "it says so" "'$ns' has pids of another pid namespace"
	names "$data" > "$tmp/names"
	check "what was in there" grep -q "^${inside##*/} " "$tmp/names"
	# Inside, the perf that reads has pid 1.
	same "other names of the first one" "" "$(grep "^perf 1$" "$tmp/names")"

	check "read outside" perf ctl -r "$ns" -o "$data"
	same "nothing is said" 0 "$(grep -c 'pid namespace' "$tmp/out")"
	check "the same names" sh -c "perf script -i $data -F comm 2> /dev/null | grep -q '${inside##*/}'"
	check "delete" perf ctl -d "$ns"
	rm "$tmp/go"
}

test_several() {
	check "create" perf record -P "$ns" -e cpu-clock -C 0 -m 1
	check "create in a pid namespace" "${in_pid_ns[@]}" \
	      perf record -P "${ns}2" -e cpu-clock -C 0 -m 1
	refuse "both" "have pids of different pid namespaces" \
	       perf record -e "persistent/$ns/" -e "persistent/${ns}2/" -o "$data"
	check "counts of both" perf stat -e "persistent/$ns/" -e "persistent/${ns}2/" -a
	check "delete" perf ctl -d "$ns" "${ns}2"
}

test_container
test_host
test_several
exit "$failed"
