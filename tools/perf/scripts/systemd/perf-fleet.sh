#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One incident, one snapshot on each machine of a fleet. The machines tell each other of
# incidents through an MQTT broker; Documentation/admin-guide/perf/persistent-fleet.rst says
# how to set it up.
#
# usage: perf-fleet.sh watch	announce each snapshot that a trigger takes here
#        perf-fleet.sh announce	announce one; 'perf ctl wait' runs this for watch
#        perf-fleet.sh listen	take a snapshot for each incident of another machine
#        perf-fleet.sh saved	name a file by its incident; 'perf ctl save' runs this
#
# The id of an incident is HOST-NUMBER-TIME, with the number of the snapshot on that host and
# the time in UTC. It becomes the note of the snapshots on all machines.
#
# Environment:
#   PERF_FLEET_NAMESPACE  what records on this machine (flight)
#   PERF_FLEET_TOPIC      where incidents are announced (perf/incidents)
#   PERF_FLEET_DIR        where perf ctl save writes, to look there for incidents that were
#                         saved before a restart (/var/lib/perf-flight)
#   PERF_FLEET_COOL_DOWN  seconds after a snapshot in which other incidents get none (10)
#   XDG_CONFIG_HOME       has mosquitto_pub and mosquitto_sub, files with their options: the
#                         broker, certificates

# Ranges as in [a-z] are those of ASCII.
export LC_ALL=C

namespace=${PERF_FLEET_NAMESPACE:-flight}
topic=${PERF_FLEET_TOPIC:-perf/incidents}
dir=${PERF_FLEET_DIR:-/var/lib/perf-flight}
cool_down=${PERF_FLEET_COOL_DOWN:-10}

say()
{
	echo "perf-fleet: $*" >&2
}

# Ids come from the network and become file names and arguments. One cannot begin with a dash
# or a dot, and has no slash.
is_id()
{
	[[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$ ]]
}

# Short enough that an id of this host is no longer than a note
host=$(uname -n)
host=${host//[^A-Za-z0-9.-]/_}
host=${host:0:30}
[[ $host =~ ^[A-Za-z0-9] ]] || host=h${host:1}

# is_own ID: does this machine announce it itself?
is_own()
{
	[[ $1 =~ ^(.+)-[0-9]+-[0-9]{8}T[0-9]{6}Z$ ]] && [ "${BASH_REMATCH[1]}" = "$host" ]
}

#
# Announcing
#

publish()
{
	local i

	for i in 1 2 3; do
		[ "$i" = 1 ] || sleep 1
		mosquitto_pub -t "$topic" -q 1 -m "$1" && return
	done
	return 1
}

# What a trigger takes is an incident of this machine. What listen takes, or a person, is not:
# otherwise each machine would announce the incidents of the others, for ever.
announce()
{
	local id

	# For watch, which goes on after this one
	echo "$PERF_SNAPSHOT"
	if [ -z "$PERF_SNAPSHOT" ] || [ -z "$PERF_TRIGGER" ] || [ -n "$PERF_NOTE" ]; then
		return
	fi

	id=$host-${PERF_SNAPSHOT##*.}-$(date -u +%Y%m%dT%H%M%SZ)
	# At the same time: what the other machines hold is being overwritten, and saved looks
	# for the note.
	perf ctl note "$PERF_SNAPSHOT" --text "$id" &
	if publish "$id"; then
		say "incident $id announced: $PERF_SNAPSHOT"
	else
		say "incident $id: the other machines were not told"
	fi
	wait $! || say "$PERF_SNAPSHOT has no note"
}

# What was taken before is left out: the other machines have overwritten what they held then.
watch()
{
	local since name

	since=$(perf ctl list "$namespace" --json) || exit
	# The first one is that of the namespace; triggers come after it.
	since=$(sed -n 's/^ *"last_snapshot": \([0-9]*\).*/\1/p' <<<"$since" | head -n 1)
	say "announcing what triggers of $namespace take after $namespace.${since:=0}"

	while name=$(perf ctl wait "$namespace" --since "$since" -q -- "$0" announce); do
		# Nothing: a trigger has stopped the namespace.
		[ -z "$name" ] || since=${name##*.}
	done
	exit 1
}

#
# Listening
#

declare -A seen
last=-$cool_down

# take ID: unless there is no reason to
take()
{
	local id=$1 name

	if ! is_id "$id"; then
		say "refused, as it is no id: $(printf %.200q "$id")"
		return
	fi
	if is_own "$id" || [ -n "${seen[$id]}" ] || [ -e "$dir/incidents/$id.$host.data" ]; then
		return
	fi
	# A broker that is told many does not fill the memory of this machine.
	[ "${#seen[@]}" -lt 1000 ] || seen=()
	seen[$id]=1

	# Snapshots for each of a series would push out the first one.
	if [ $((SECONDS - last)) -lt "$cool_down" ]; then
		say "incident $id: no snapshot, as the last one was $((SECONDS - last)) s ago"
		return
	fi
	if name=$(perf ctl snapshot "$namespace" --note "$id" -q); then
		last=$SECONDS
		say "incident $id: $name"
	else
		say "incident $id: no snapshot"
	fi
}

# What the broker remembers from before is left out (-R): that is over.
listen()
{
	local id sub

	exec 3< <(exec mosquitto_sub -t "$topic" -q 1 -R)
	sub=$!
	# shellcheck disable=SC2064 # the one of now
	trap "kill $sub 2>/dev/null" EXIT
	trap exit HUP INT TERM

	while IFS= read -r id <&3; do
		take "$id"
	done
	say "the connection to the broker has ended"
	exit 1
}

#
# Saving
#

# The id may be attached later than the snapshot is taken. Most often it is there when the file
# is written.
find_note()
{
	local note=$PERF_NOTE i

	for i in {1..10}; do
		[ -z "$note" ] || break
		[ "$i" = 1 ] || sleep 0.5
		note=$(perf ctl list "$PERF_SNAPSHOT" --json 2>/dev/null |
			sed -n 's/^ *"note": "\(.*\)",$/\1/p')
	done
	echo "$note"
}

# A link, so that the limits of perf ctl save hold for all files
saved()
{
	local id incidents=${PERF_FILE%/*}/incidents link

	id=$(find_note)
	mkdir -p "$incidents" || exit
	for link in "$incidents"/*.data; do
		[ -e "$link" ] || rm -f "$link"
	done
	# The note of a snapshot that is no incident can be any text.
	is_id "$id" || exit 0
	link=$incidents/$id.$host.data
	[ -e "$link" ] || ln -s "../${PERF_FILE##*/}" "$link"
}

case $1 in
watch | announce | listen | saved) "$1" ;;
*)
	sed -n '8,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
