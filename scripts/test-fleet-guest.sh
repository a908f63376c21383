#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of test-fleet.sh that runs in each guest.
#
# usage: test-fleet-guest.sh HOST DIR
#
# All guests share DIR. Files in it show how far each machine is.

set -eu

top=$(realpath "$(dirname "$0")/..")
units=$top/build/linux/tools/perf/scripts/systemd
host=$1 shared=$2 state=/tmp/state
# shellcheck source=scripts/test-fleet-lib.sh
. "$top/scripts/test-fleet-lib.sh"
PATH=$top/build/perf:$PATH
export XDG_CONFIG_HOME=/tmp/config PERF_FLEET_DIR=$state/perf-flight

set_up_network()
{
	echo "$host" >/proc/sys/kernel/hostname
	ip address add "$(address "$host")/24" dev eth0
	ip link set eth0 up
	mkdir -p $XDG_CONFIG_HOME
	echo "-h $(address "${fleet_hosts[0]}")" | tee $XDG_CONFIG_HOME/mosquitto_{pub,sub}
}

#
# Clocks
#

start_clock()
{
	python3 - "$1" <<-'EOF' &
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.bind((sys.argv[1], 1234))
	while True:
	    data, sender = s.recvfrom(16)
	    s.sendto(str(time.time_ns()).encode(), sender)
	EOF
}

# compare_clock: the offset to add to the time of this machine, and its possible error, in
# ns. The fastest answer gives the best estimate.
compare_clock()
{
	python3 - "$(address "${fleet_hosts[0]}")" >>"$shared/$host.clock" <<-'EOF'
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.settimeout(0.5)
	best = None
	for i in range(100):
	    start = time.monotonic_ns(), time.time_ns()
	    s.sendto(b"?", (sys.argv[1], 1234))
	    try:
	        answer = int(s.recv(64))
	    except socket.timeout:
	        # A late answer must not be taken for the answer to the next question.
	        s.close()
	        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	        s.settimeout(0.5)
	        continue
	    took = time.monotonic_ns() - start[0]
	    if best is None or took < best[1] * 2:
	        best = answer - start[1] - took // 2, (took + 1) // 2
	print(*best)
	EOF
}

#
# The services on a machine of a fleet
#

# command UNIT: print the command that systemd would run
command()
{
	sed -n 's|^ExecStart=\(.\)|\1|p' "$units/$1" |
		sed "s|/usr/local/libexec/perf-fleet.sh|$units/perf-fleet.sh|; s|/usr/bin/perf|perf|; s|%S|$state|"
}

# start UNIT: run its command, with the output in the log and in a file. A drop-in has the
# priority of its unit.
start()
{
	local -a argv

	read -ra argv < <(command "$1")
	nice -n "$(sed -n 's/^Nice=//p' "$units/${1%.d/*}")" "${argv[@]}" > >(exec tee -a "/tmp/${1%%.*}.said" >&2) 2>&1 &
}

# The trigger has the default cool-down of a second.
start_recorder()
{
	perf record -P flight -a -m 256K --clockid monotonic -e $fleet_event \
		--filter "sig == 0 && pid >= $number_base"
	perf ctl trigger flight --when $fleet_event \
		--filter "sig == 0 && pid == $((number_base + fire_number))" --do snapshot
	perf ctl spares flight -n 1
}

start_broker()
{
	cat >/tmp/mosquitto.conf <<-EOF
	listener 1883 $(address "$host")
	allow_anonymous true
	user root
	log_dest file /tmp/mosquitto.log
	log_type all
	EOF
	mosquitto -c /tmp/mosquitto.conf &
	until_true "the broker runs" grep -qs "mosquitto version .* running" /tmp/mosquitto.log
	touch "$shared/broker"
}

# shellcheck disable=SC2317 # until_true calls it
all_listen()
{
	[ "$(grep -c 'Sending SUBACK' /tmp/mosquitto.log)" = ${#fleet_hosts[@]} ]
}

# shellcheck disable=SC2317 # until_true calls it
all_are()
{
	local name

	for name in "${fleet_hosts[@]}"; do
		[ -e "$shared/$name.$1" ] || return
	done
}

#
# The incident
#

# number N: make a record of it
number()
{
	kill -0 $((number_base + $1)) 2>/dev/null || :
}

write_marks()
{
	local n

	for ((n = 1; n <= last_mark; n++)); do
		is_turn_of "$host" $n || continue
		until_true "the number before $n" test -e "$shared/mark.$((n - 1))"
		sleep $mark_seconds
		number $n
		touch "$shared/mark.$n"
	done
}

# shellcheck disable=SC2317 # until_true calls it
has_file()
{
	compgen -G "$PERF_FLEET_DIR/incidents/*.$host.data" >/dev/null
}

# Write the time of the snapshot and of the trigger (or 0), by the clock of this machine
write_times()
{
	perf ctl list flight flight.1 --json | python3 -c '
import json, sys, time
namespaces = {ns["name"]: ns for ns in json.load(sys.stdin)["namespaces"]}
boot = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
fired = namespaces["flight"]["triggers"][0]["last_fired_ns"]
print(namespaces["flight.1"]["created_ns"] + boot, fired + boot if fired else 0)' \
		>"$shared/$host.times"
}

set_up_network
if [ "$host" = "${fleet_hosts[0]}" ]; then
	start_clock "$(address "$host")"
	start_broker
fi
until_true "the broker of ${fleet_hosts[0]}" test -e "$shared/broker"
start_recorder
start perf-fleet-listen.service
start perf-fleet-announce.service
# systemd creates this for StateDirectory=.
mkdir -p "$PERF_FLEET_DIR"
start perf-flight-snapshots.service.d/fleet.conf
until_true "it announces" grep -qs "announcing" /tmp/perf-fleet-announce.said
[ "$host" != "${fleet_hosts[0]}" ] || until_true "all listen" all_listen
compare_clock
touch "$shared/$host.ready"
until_true "all are ready" all_are ready

[ "$host" != "${fleet_hosts[0]}" ] || touch "$shared/mark.0"
write_marks
if [ "$host" = $fleet_fires ]; then
	until_true "all numbers" test -e "$shared/mark.$last_mark"
	number $fire_number
fi

until_true "the file of the incident" has_file
write_times
compare_clock
rsync -aL "$PERF_FLEET_DIR/incidents/" "$shared/incidents/"
touch "$shared/$host.saved"
# Keep the broker and the clock running until all machines are done.
until_true "all have saved it" all_are saved
