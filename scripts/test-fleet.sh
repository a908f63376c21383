#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Test a fleet: three guests with different clocks, and a broker. The trigger of one guest
# fires, and each guest writes a file of this incident. The files are merged to one
# timeline.
#
# usage: test-fleet.sh
#
# Environment:
#   KERNEL  O= directory of the kernel (build/kernel)
#
# The guests have their own network, through sockets in a directory. The logs are in
# build/test-fleet/. The last line is the summary.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
kernel=$(realpath "${KERNEL:-$top/build/kernel}")
logs=$top/build/test-fleet
out=$top/build/out/fleet
# shellcheck source=scripts/test-fleet-lib.sh
. "$top/scripts/test-fleet-lib.sh"
PATH=$top/build/perf:$PATH
passed=0 failed=0
# The errors of the clocks in seconds. The kernel reads only whole seconds from the RTC.
declare -A wrong=([web1]=0 [web2]=3607 [db]=-86399)

# check WHAT COMMAND...
check()
{
	local what=$1

	shift
	if "$@"; then
		echo "ok $what"
		passed=$((passed + 1))
	else
		echo "FAILED: $what, logs: ${logs#"$top"/}"
		failed=$((failed + 1))
	fi
}

finish()
{
	echo "$passed passed, $failed failed${1:+, $1}"
	[ $failed = 0 ]
	exit
}

rm -rf "$logs" "$out"
mkdir -p "$logs" "$out/incidents"
sockets=$(mktemp -d)
guests=()
# shellcheck disable=SC2317 # called by trap
cleanup()
{
	local pid

	for pid in "${guests[@]}"; do
		kill "$pid" 2>/dev/null
	done
	rm -rf "$sockets"
}
trap cleanup EXIT
trap 'exit 143' HUP INT TERM

# network HOST NUMBER: QEMU's options for the network. The first guest has a hub, to which
# the others connect.
network()
{
	local host=$1 other mac=52:54:00:00:00:0$(($2 + 1))

	if [ "$2" != 0 ]; then
		echo "-netdev stream,id=$host,server=off,addr.type=unix,addr.path=$sockets/$host"
		echo "-device virtio-net-pci,romfile=,mac=$mac,netdev=$host"
		return
	fi
	for other in "${fleet_hosts[@]:1}"; do
		echo "-netdev stream,id=$other,server=on,addr.type=unix,addr.path=$sockets/$other"
		echo "-netdev hubport,id=port-$other,hubid=0,netdev=$other"
	done
	echo "-netdev hubport,id=port,hubid=0"
	echo "-device virtio-net-pci,romfile=,mac=$mac,netdev=port"
}

# guest NUMBER: start it in the background. Its time comes from its RTC, even with KVM.
guest()
{
	local host=${fleet_hosts[$1]} base

	base=$(date -u -d "@$(($(date +%s) + ${wrong[$host]}))" +%Y-%m-%dT%H:%M:%S)
	VM_LOG=$logs/$host.vm.log VM_QEMU="-rtc base=$base $(network "$host" "$1" | xargs)" \
		"$top/scripts/vm.sh" -k "$kernel" -s 1 -m 1024 -t 400 -a no-kvmclock \
		"$top/scripts/test-fleet-guest.sh" "$host" /tmp/out/fleet \
		>"$logs/$host.log" 2>&1 </dev/null &
	guests+=($!)
}

# shellcheck disable=SC2317 # until_true calls it
have_sockets()
{
	local host

	for host in "${fleet_hosts[@]:1}"; do
		[ -S "$sockets/$host" ] || return
	done
}

guest 0
until_true "the network of ${fleet_hosts[0]}" have_sockets || exit
for ((i = 1; i < ${#fleet_hosts[@]}; i++)); do
	guest $i
done
for i in "${!fleet_hosts[@]}"; do
	check "${fleet_hosts[i]}" wait "${guests[i]}"
done

# Set id to the id of the incident, and check that each machine has a file of it
# shellcheck disable=SC2317 # called by check
one_incident()
{
	local names=("$out"/incidents/*) host

	id=${names[0]##*/}
	id=${id%."${id#*Z.}"}
	echo "# files: ${names[*]##*/}"
	[[ $id =~ ^$fleet_fires-1-[0-9]{8}T[0-9]{6}Z$ ]] || return
	[ ${#names[@]} = ${#fleet_hosts[@]} ] || return
	for host in "${fleet_hosts[@]}"; do
		[ -s "$out/incidents/$id.$host.data" ] || return
	done
}
check "each machine has one file, of one incident" one_incident
[ $failed = 0 ] || finish

# clock HOST: the seconds to add to its times, and their possible error. Takes the mean of
# both comparisons, as the clock may have drifted between them.
clock()
{
	awk '{ sum += $1; half = (NR == 1 ? $1 : half - $1); if ($2 > error) error = $2 }
	     END { if (NR != 2) exit 1
		   if (half < 0) half = -half
		   printf "%+.6f %.6f\n", sum / 2e9, (half / 2 + error) / 1e9 }' "$out/$1.clock"
}

offsets=() unknown=0
for host in "${fleet_hosts[@]:1}"; do
	read -r offset error < <(clock "$host") || exit
	echo "# clock of $host: $offset s to be added, give or take $error s"
	offsets+=(--offset "$host=$offset")
	unknown=$(awk -v a="$unknown" -v b="$error" 'BEGIN { print a + b }')
done
check "the clocks are known to better than $mark_seconds s" \
	awk -v a="$unknown" -v b=$mark_seconds 'BEGIN { exit !(a < b) }'

# numbers FILE: the numbers of a timeline, in its order
# shellcheck disable=SC2317 # called by check
numbers()
{
	local hex

	sed -n 's/.*pid: 0x\([0-9a-f]*\),.*/\1/p' "$1" | while read -r hex; do
		echo $((16#$hex - number_base))
	done | xargs
}

# merge NAME OPTION...: merge the files to the timeline NAME
# shellcheck disable=SC2317 # called by check
merge()
{
	local name=$1

	shift
	perf data merge "$@" "$out/incidents/$id".*.data >"$logs/$name.timeline" 2>"$logs/$name.log"
}

# Check that each number is from the machine whose turn it was.
# shellcheck disable=SC2317 # called by check
right_machines()
{
	local n

	for ((n = 1; n <= last_mark; n++)); do
		grep -q "^${fleet_hosts[n % ${#fleet_hosts[@]}]} .*pid: $(printf '0x%08x' \
			$((number_base + n)))," "$logs/right.timeline" || return
	done
}

# shellcheck disable=SC2317 # called by check
right_order()
{
	merge right "${offsets[@]}" || return
	echo "# in this order: $(numbers "$logs/right.timeline")"
	[ "$(numbers "$logs/right.timeline")" = "$(seq -s ' ' "$last_mark") $fire_number" ] &&
		right_machines
}

# shellcheck disable=SC2317 # called by check
wrong_order()
{
	merge wrong && [ "$(numbers "$logs/wrong.timeline" | tr ' ' '\n' | sort -n | xargs)" = \
			 "$(seq -s ' ' "$last_mark") $fire_number" ] &&
		[ "$(numbers "$logs/wrong.timeline")" != "$(seq -s ' ' "$last_mark") $fire_number" ]
}
check "without a word about the clocks, all numbers are there in another order" wrong_order
check "with it, they are in the order of true time" right_order

# Compute the delay by the clock of the first machine.
delay=$(python3 - "$out" "${fleet_hosts[@]}" <<'EOF'
import os, sys
taken, fired = [], []
for host in sys.argv[2:]:
    with open(os.path.join(sys.argv[1], host + ".clock")) as clock:
        add = [int(line.split()[0]) for line in clock]
    with open(os.path.join(sys.argv[1], host + ".times")) as times:
        at, of_trigger = map(int, times.read().split())
    taken.append(at + sum(add) // len(add))
    if of_trigger:
        fired.append(of_trigger + sum(add) // len(add))
(when,) = fired
print(round((max(taken) - when) / 1e6))
EOF
) || check "one trigger fired" false
finish "$delay ms from the trigger to the last snapshot, clocks known to $unknown s"
