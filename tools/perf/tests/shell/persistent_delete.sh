#!/bin/bash
# perf ctl -d and perf record -k delete namespaces of events
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

# Nothing is deleted that is not written: there is room for a part of the file.
test_full_disk() {
	mkdir "$tmp/small"
	mount -t tmpfs -o size=12k none "$tmp/small" || return
	create "$ns"
	refuse "no room for the file" "'$ns' is not deleted" \
	       perf record -e "persistent/$ns/" -o "$tmp/small/data" -k
	check "it is still there" exists "$ns"
	umount "$tmp/small"
	check "read and delete" perf record -e "persistent/$ns/" -o "$data" -k
	check "it is gone" gone "$ns"
}

test_kill_command() {
	create "$ns"
	check "delete after a command" perf record -e "persistent/$ns/" -o "$data" -k true
	check "it is gone" gone "$ns"
	create "$ns"
	check "--kill" perf record --kill -e "persistent/$ns/" -o "$data"
	check "it is gone" gone "$ns"
}

test_delete
test_full_disk
test_kill_command
exit "$failed"
