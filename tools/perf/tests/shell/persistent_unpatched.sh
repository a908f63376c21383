#!/bin/bash
# a perf without persistent events reads files of namespaces
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
old=${PERF_UNPATCHED:-/usr/bin/perf}
"$old" ctl -l 2>&1 | grep -q "not a perf-command" || skip "no unpatched perf, see PERF_UNPATCHED"

# script PERF: print to $tmp/out all that can be compared
script() {
	"$1" script -i "$data" -F comm,pid,cpu,time,event,trace,ip,sym \
		> "$tmp/out" 2> "$tmp/said" || return
	# Versions of perf differ in the width of columns and the length of C++ names.
	sed -i '/^\t.* noploop$/!{/^\t/d}; s/  */ /g; s/^\t.* //' "$tmp/out"
}

check "create" perf record -P "$ns" -e "$exec_event" -e cpu-clock/freq=99,name=clock/ -g -a
mark 3
check "read with a command" perf record -e "persistent/$ns/" -o "$data" -k perf test -w noploop
script perf
mv "$tmp/out" "$tmp/new"
check "it has samples" test "$(wc -l < "$tmp/new")" -gt 100
check "it has functions" grep -q '^noploop' "$tmp/new"
if script "$old"; then
	mv "$tmp/out" "$tmp/old"
	check "$("$old" --version) reads the same" diff "$tmp/new" "$tmp/old"
else
	fail "$old cannot read it:"
	cat "$tmp/said"
fi
exit "$failed"
