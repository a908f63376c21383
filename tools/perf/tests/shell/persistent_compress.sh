#!/bin/bash
# perf record -z and perf ctl save --compress write compressed files
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2119,SC2154 # save has options; the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh
# shellcheck source=lib/persistent_save.sh
. "$(dirname "$0")"/lib/persistent_save.sh

persistent_require
require_fill

# More samples than perf reads in one round, and than it compresses in one piece
nr_samples=20000

plain=$tmp/plain.data

# samples OPTION...: print the samples with 'perf script', which must read the whole file
samples() {
	perf script "$@" -F comm,pid,tid,cpu,time,event,trace 2> "$tmp/said" ||
		{ fail "perf script $*"; cat "$tmp/said"; } >&2
}

# same_samples WHAT FILE: check that FILE has the samples of the uncompressed file
same_samples() {
	samples -i "$2" > "$tmp/samples"
	check "$1: all samples" diff -q "$tmp/expected" "$tmp/samples"
	check "$1: it is compressed" sh -c "perf report --header-only -i $2 | grep 'compressed : Zstd'"
	check "$1: it is smaller" test $((2 * $(stat -c %s "$2"))) -lt "$(stat -c %s "$plain")"
}

test_refused() {
	refuse "another program" "--compress takes zstd" \
	       perf ctl save "$ns" --to "$dir" --compress gzip
	refuse "what begins like it" "--compress takes zstd" \
	       perf ctl save "$ns" --to "$dir" --compress zstdmt
	for level in "" 0 23 fast; do
		refuse "level '$level'" "a number from 1 to 22" \
		       perf ctl save "$ns" --to "$dir" --compress "zstd:$level"
	done
}

test_record() {
	local event=persistent/$ns.1/

	check "record" perf record -N -e "$event" -o "$plain"
	samples -i "$plain" > "$tmp/expected"
	same "samples" $nr_samples "$(filled "$plain")"
	check "record -z" perf record -N -z -e "$event" -o "$data"
	says "the ratio is said" "compressed (original"
	same_samples "record -z" "$data"
	perf record -N -z -e "$event" -o - 2> /dev/null | samples -i - > "$tmp/samples"
	check "through a pipe" cmp "$tmp/expected" "$tmp/samples"
	check "beside other events" \
	      perf record -z -e "persistent/$ns.1/" -e dummy:u -a -o "$data" -- true
	same "samples" $nr_samples "$(filled "$data")"
}

# If the first attempt exceeds the limit, the second one starts a new compressed stream.
test_max_size() {
	local size nr=0 newest

	newest=$(tail -n 1 "$tmp/expected")
	for size in {72..104..4} 512; do
		perf record -N -z --max-size "${size}K" -e "persistent/$ns.1/" -o "$data" \
			> "$tmp/out" 2>&1 ||
			{ says "${size}K is too small" "too small for any"; continue; }
		nr=$((nr + 1))
		check "no more than ${size}K" test "$(stat -c %s "$data")" -le $((size * 1024))
		samples -i "$data" > "$tmp/samples"
		check "they are the newest" sh -c "tail -n $(wc -l < "$tmp/samples") $tmp/expected |
			diff - $tmp/samples"
		same "the newest of them" "$newest" "$(tail -n 1 "$tmp/samples")"
	done
	check "several limits were large enough: $nr" test $nr -gt 4
}

test_save() {
	save --compress zstd
	eventually "it is saved" has_saved 1
	finish_saving
	same_samples "save" "$(file_of 1)"
	# The limit is the size of one uncompressed file: both compressed files fit.
	perf ctl snapshot "$ns" -q > /dev/null
	save --compress zstd:19 --max-total "$(($(stat -c %s "$plain") / 1024))K" --last 1h
	eventually "the next is saved beside it" has_saved "1 2"
	finish_saving
	check "with its level" sh -c "perf report --header-only -i $(file_of 2) |
		grep 'compressed : Zstd, level = 19'"
}

check "create" perf record -P "$ns" -C 0 -m 4M -e "$fill_event" --filter "$fill_filter"
if ! perf version --build-options | grep -q 'zstd: .*on'; then
	refuse "zstd is not built in" "built without" \
	       perf ctl save "$ns" --to "$dir" --compress zstd
	exit "$failed"
fi
test_refused
fill $nr_samples
check "snapshot" perf ctl snapshot "$ns"
test_record
test_max_size
test_save
exit "$failed"
