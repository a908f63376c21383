#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A BPF program that writes to a map of events whenever a task calls exec. Source this
# after persistent.sh. The test that sources it must unmount $undo_mount at its end, if
# that is set.

# shellcheck disable=SC2034,SC2154 # used by those that source this, and set by persistent.sh

bpf_pin=$tmp/bpf/events

# start_bpf: pin a map of events at $bpf_pin and a map of another type at $bpf_pin_other,
# and start the BPF program. This requires python3, as the tests have no other tool to
# create a map. If it is not possible, start_bpf says why and fails.
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
