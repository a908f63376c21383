#!/bin/bash
# a perf that knows nothing of persistent events reads what was written of them
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

persistent_require
old=${PERF_UNPATCHED:-/usr/bin/perf}
"$old" ctl -l 2>&1 | grep -q "not a perf-command" || skip "no unpatched perf, see PERF_UNPATCHED"

# script PERF: all that can be compared, in $tmp/out
script() {
	"$1" script -i "$data" -F comm,pid,cpu,time,event,trace,ip,sym \
		> "$tmp/out" 2> "$tmp/said" || return
	# Columns are as wide, and names in C++ as long, as each perf likes.
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
