#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A BPF program that writes to a map of events whenever a task calls exec. Sourced after
# persistent.sh, which $undo_mount is not of: who sources this unmounts that at the end.

# shellcheck disable=SC2034,SC2154 # used by those that source this, and set by persistent.sh

bpf_pin=$tmp/bpf/events

# Only where python3 can make a map, as the library of the tests has nothing else that does. If it
# cannot be, it says why and fails. Otherwise the map is at $bpf_pin, and $bpf_pin_other is one of
# another kind.
start_bpf() {
	local python

	python=$(type -P python3) || { echo "no python3: --trigger bpf: is not tested"; return 1; }
	mkdir "$tmp/bpf"
	mount -t bpf none "$tmp/bpf" || return
	undo_mount=$tmp/bpf
	mkfifo "$tmp/bpf_go"
	"$python" "$(dirname "$0")"/lib/bpf_perf_output.py "$bpf_pin" \
		< "$tmp/bpf_go" > "$tmp/bpf_said" 2>&1 &
	exec 5> "$tmp/bpf_go"
	eventually "a program writes to the map" grep -q . "$tmp/bpf_said"
	grep -q runs "$tmp/bpf_said" && return
	cat "$tmp/bpf_said"
	stop_bpf
	return 1
}

stop_bpf() {
	exec 5>&-
	umount -l "$tmp/bpf"
	undo_mount=
	rm "$tmp/bpf_go"
}
