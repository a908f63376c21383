#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Show that persistent events do not change the code that records a sample: compile it with
# and without CONFIG_PERF_EVENTS_PERSISTENT, and compare the instructions.
#
# usage: check-fastpath.sh SOURCE CONFIG OUT
#
# Addresses differ if other functions in the file have grown, so the assembly is compared:
# function by function, with the local labels numbered from one in each.

set -eu

src=$(realpath "$1") config=$(realpath "$2") out=$(realpath -m "$3")
top=$(dirname "$(realpath "$0")")

functions='perf_output_begin perf_output_begin_forward perf_output_begin_backward
	__perf_output_begin perf_output_end perf_output_put_handle perf_output_get_handle
	perf_output_copy perf_output_sample perf_prepare_sample perf_prepare_header
	__perf_event_output perf_event_output perf_event_output_forward
	perf_event_output_backward __perf_event_overflow perf_event_overflow
	perf_swevent_overflow perf_swevent_event perf_tp_event __perf_tp_event_target_task
	perf_bp_event ___perf_sw_event __perf_sw_event perf_event_header__init_id
	__perf_event_header__init_id perf_output_read perf_swevent_hrtimer
	perf_trace_begin perf_trace_begin_task perf_trace_end perf_tp_reserve perf_tp_commit
	perf_tp_copy tp_reserve_any tp_interrupted'

for set in off on; do
	o=$out/$set
	if [ ! -e "$o/.config" ] || [ "$config" -nt "$o/.config" ] ||
	   [ "${config%/*}/arch/x86.config" -nt "$o/.config" ]; then
		"$top/config.sh" "$src" "$o" "$config"
		action=-d
		[ $set = off ] || action=-e
		"$src/scripts/config" --file "$o/.config" $action PERF_EVENTS_PERSISTENT
		make -s -C "$src" O="$o" olddefconfig
	fi
	make -s -C "$src" O="$o" LOCALVERSION= CC="${CC:-gcc}" -j"$(nproc)" \
		kernel/events/core.s kernel/events/ring_buffer.s kernel/events/tracepoint.s
	for f in $functions; do
		cat "$o/kernel/events/core.s" "$o/kernel/events/ring_buffer.s" \
			"$o/kernel/events/tracepoint.s" |
		awk -v f="$f" '
			$0 == f ":"		{ on = 1 }
			on && /^\t\.size\t/	{ exit }
			# Comments contain numbers that differ in each build.
			{ sub(/[ \t]*#.*/, "") }
			on && !/^\t\.(loc|file|cfi|p2align|section|text|previous|pushsection|popsection)/ {
				while (match($0, /\.L[A-Za-z]*[0-9]+|\.[0-9]+(b|f)?/)) {
					l = substr($0, RSTART, RLENGTH)
					if (!(l in seen))
						seen[l] = ++n
					$0 = substr($0, 1, RSTART - 1) "@" seen[l] \
					     substr($0, RSTART + RLENGTH)
				}
				print
			}'
	done >"$o/fastpath.s"
done

present=$(for f in $functions; do grep -x "$f:" "$out/on/fastpath.s"; done | wc -l)
if [ "$present" -lt 12 ]; then
	echo "check-fastpath: only $present of the functions found" >&2
	exit 1
fi
if ! diff -u "$out/off/fastpath.s" "$out/on/fastpath.s"; then
	echo "check-fastpath: the option changes the recording path" >&2
	exit 1
fi
echo "recording path: $present functions, $(wc -l <"$out/on/fastpath.s") lines of assembly," \
	"the same with CONFIG_PERF_EVENTS_PERSISTENT on and off"
