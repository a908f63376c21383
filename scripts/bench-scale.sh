#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measure the cost to create, list, open, read and delete namespaces while many of them
# exist, on many CPUs, and with many events; and the memory of a namespace. Fails if a
# cost grows faster than the size of the request. See bench/README.md.
#
# usage: bench-scale.sh
#
# Environment:
#   SCALE_CPUS        numbers of CPUs ("1 4 16 64")
#   SCALE_NAMESPACES  numbers of namespaces ("1 10 100 1000")
#   SCALE_EVENTS      numbers of events on a CPU ("1 10 100 500")

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
out=$top/build/bench
scale=$out/scale
read -ra cpus <<<"${SCALE_CPUS:-1 4 16 64}"
read -ra namespaces <<<"${SCALE_NAMESPACES:-1 10 100 1000}"
read -ra events <<<"${SCALE_EVENTS:-1 10 100 500}"

# guest CPUS SECONDS SCRIPT [ARG...]: print the results of SCRIPT in a guest. CPUs boot
# one by one (cpuhp.parallel=off): in parallel they would spend most of the time waiting
# for each other.
guest()
{
	local cpu=$1 limit=$2

	shift 2
	VM_ACCEL=icount VM_LOG=$out/scale.log "$top/scripts/vm.sh" -s "$cpu" -m 3072 \
		-a cpuhp.parallel=off -t "$limit" bash -ec "$@"
}

mkdir -p "$out"
"$top/scripts/build.sh" bench
export scale perf=$top/build/perf/perf

echo "bench: ${namespaces[*]} namespaces"
# shellcheck disable=SC2016 # expanded in the guest
guest 1 1200 'for n; do
		"$scale" -n "$n"
		"$scale" -n "$n" -r 3 -p "$perf"
	done' - "${namespaces[@]}" >"$out/scale.namespaces"

echo "bench: ${events[*]} events on a CPU"
# shellcheck disable=SC2016
guest 1 1200 'for n; do "$scale" -e "$n" -r 3; done' - "${events[@]}" >"$out/scale.events"

: >"$out/scale.cpus"
for n in "${cpus[@]}"; do
	echo "bench: $n CPUs"
	# shellcheck disable=SC2016
	guest "$n" 3000 '"$scale" -n 10 -r 3' >>"$out/scale.cpus"
done
echo "bench: memory"
# shellcheck disable=SC2016
guest 4 600 'for n in 1 4; do "$scale" -c "$n" -n 501 -m; done' >"$out/scale.memory"

"$top/bench/scale.py" "$out"
