#!/bin/bash
# an incident on one machine makes others take snapshots with its name
# SPDX-License-Identifier: GPL-2.0

# shellcheck disable=SC2154 # the library sets them
# shellcheck source=lib/persistent.sh
. "$(dirname "$0")"/lib/persistent.sh

units=$(realpath "$(dirname "$0")/../../scripts/systemd")
fleet=$units/perf-fleet.sh
[ -e "$fleet" ] || skip "no script at $fleet"

# Replace the paths of perf and of the script: they may not exist. Everything else must.
verify_units() {
	local unit

	cp -r "$units"/perf-flight*.service* "$units"/perf-fleet*.service "$tmp"
	sed -i -e "s|/usr/bin/perf|$(type -P true)|" \
		-e "s|/usr/local/libexec/perf-fleet.sh|$(type -P true)|" \
		"$tmp"/*.service "$tmp"/*.service.d/*.conf
	# systemd-analyze finds required units there.
	export SYSTEMD_UNIT_PATH=$tmp:
	for unit in fleet-announce fleet-listen flight-snapshots; do
		check "unit perf-$unit" systemd-analyze verify "$tmp/perf-$unit.service"
		same "complaints" "" "$(cat "$tmp/out")"
		systemd-analyze security --help 2> /dev/null | grep -q -- --offline &&
			check "its exposure is small" systemd-analyze security --offline=yes \
			      --threshold=30 "$tmp/perf-$unit.service"
	done
	unset SYSTEMD_UNIT_PATH
}

if type -P systemd-analyze > /dev/null; then
	verify_units
else
	echo "no systemd-analyze: the units are not verified"
fi

persistent_require
require_numbers
type -P unshare > /dev/null || skip "no unshare"
type -P setpriv > /dev/null || skip "no setpriv"

# Replacement for a broker: each subscriber has a fifo, and gets all that is published.
export BROKER=$tmp/broker
mkdir -p "$BROKER" "$tmp/bin"
cat > "$tmp/bin/mosquitto_sub" << 'END'
#!/bin/bash
[ "$*" = "-t perf/incidents -q 1 -R" ] || exit 1
mkfifo "$BROKER/$$.fifo"
exec cat 0<> "$BROKER/$$.fifo"
END
cat > "$tmp/bin/mosquitto_pub" << 'END'
#!/bin/bash
[ "${*:1:5}" = "-t perf/incidents -q 1 -m" ] && [ $# = 6 ] || exit 1
[ ! -e "$BROKER/down" ] || exit 1
echo "$6" >> "$BROKER/published"
for fifo in "$BROKER"/*.fifo; do
	printf '%s\n' "$6" 1<> "$fifo"
done
END
chmod +x "$tmp/bin"/*
PATH=$tmp/bin:$PATH

pids=()
# shellcheck disable=SC2317 # at_end calls it
stop_all() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null
	wait
}
at_end stop_all

# run HOST UNIT COMMAND...: run it with HOST as the host name and the capabilities of UNIT
run() {
	local host=$1 caps

	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$units/$2" | tr 'A-Z ' 'a-z,' |
		sed 's/cap_/+/g')
	shift 2
	# shellcheck disable=SC2016 # of the inner shell
	PERF_FLEET_NAMESPACE=${ns}_$host PERF_FLEET_DIR=$tmp/$host \
		unshare --uts sh -c 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"' "$host" \
		setpriv --bounding-set="-all,$caps" --inh-caps=-all --no-new-privs "$@" \
		>> "$tmp/$host.said" 2>&1 &
	pids+=($!)
}

# listen HOST COOL_DOWN: start a listener on HOST, return when it has subscribed
listen() {
	local before

	before=$(compgen -G "$BROKER/*.fifo" | wc -l)
	PERF_FLEET_COOL_DOWN=$2 run "$1" perf-fleet-listen.service "$fleet" listen
	listener=$!
	eventually "$1 listens" listens $((before + 1))
}

# shellcheck disable=SC2317 # eventually calls it
listens() {
	[ "$(compgen -G "$BROKER/*.fifo" | wc -l)" = "$1" ]
}

# machine HOST CAUSE: start a machine with a trigger that fires on the number CAUSE
machine() {
	keep_numbers "${ns}_$1" -a -m 64K
	check "a trigger of $1" perf ctl trigger "${ns}_$1" --when "$number_event" --do snapshot \
	      --cool-down 0 --filter "sig == 0 && pid == $((number_base + $2))"
	listen "$1" 0
	run "$1" perf-fleet-announce.service "$fleet" watch
	eventually "$1 announces" grep -q "announcing" "$tmp/$1.said"
	run "$1" perf-flight-snapshots.service perf ctl save "${ns}_$1" --to "$tmp/$1" -- \
	    "$fleet" saved
}

# shellcheck disable=SC2317 # eventually calls it
has_files() {
	[ "$(cd "$tmp/$1/incidents" 2> /dev/null && echo "$2".*)" = "$2.$1.data" ]
}

# shellcheck disable=SC2317 # eventually calls it
published() {
	[ "$(wc -l 2> /dev/null < "$BROKER/published")" = "$1" ]
}

# both_have ID: wait until both machines have a file of the incident ID
both_have() {
	eventually "alpha has a file of $1" has_files alpha "$1" || cat "$tmp/alpha.said"
	eventually "beta has a file of $1" has_files beta "$1" || cat "$tmp/beta.said"
}

# taken HOST: the number of snapshots it took
taken() {
	perf ctl list "${ns}_$1" --json | sed -n 's/^ *"last_snapshot": \([0-9]*\),*$/\1/p' |
		head -n 1
}

# Each machine handles its snapshots in order. When its own incident is published after a
# snapshot that another machine asked for, it has not announced the latter.
test_incidents() {
	local id alpha beta

	number 1 101
	eventually "alpha's is published" published 1
	id=$(tail -n 1 "$BROKER/published")
	check "what it is called" grep -qxE "alpha-1-[0-9]{8}T[0-9]{6}Z" <<< "$id"
	both_have "$id"
	alpha=$tmp/alpha/incidents/$id.alpha.data
	beta=$tmp/beta/incidents/$id.beta.data
	same "numbers that alpha had then" "1 101" "$(numbers "$alpha")"
	same "numbers that beta had then" "1 101" "$(numbers "$beta")"
	check "one timeline" perf data merge "$alpha" "$beta"
	says "with alpha" "^alpha .*$number_event"
	says "and beta" "^beta .*$number_event"

	check "take one by hand" perf ctl snapshot "${ns}_beta"
	number 102
	eventually "beta's is published" published 2
	id=$(tail -n 1 "$BROKER/published")
	check "what it is called" grep -qxE "beta-3-[0-9]{8}T[0-9]{6}Z" <<< "$id"
	both_have "$id"

	number 101
	eventually "alpha's next is published" published 3
	id=$(tail -n 1 "$BROKER/published")
	check "what it is called" grep -qxE "alpha-3-[0-9]{8}T[0-9]{6}Z" <<< "$id"
	both_have "$id"
	same "snapshots of both" "3 4" "$(taken alpha) $(taken beta)"
}

# Anything that is not a valid id is refused, and a known id is no new incident.
test_hostile() {
	local good=other-7-20261122T031407Z hostile=(
		"" "-rf" "--note" "." ".." ".hidden" "a/b" "../../etc/passwd" "/etc/passwd"
		"a b" "a;touch $tmp/hacked" "\$(touch $tmp/hacked)" "\`touch $tmp/hacked\`"
		"a'b" 'a"b' "a*" "a\\b" $'a\tb' $'a\rb' $'\033[2J' "öl"
		"$(printf 'a%.0s' {1..64})" "$(printf 'a%.0s' {1..5000})"
	) id

	for id in "${hostile[@]}" "$good" "$good"; do
		mosquitto_pub -t perf/incidents -q 1 -m "$id"
	done
	mosquitto_pub -t perf/incidents -q 1 -m a
	both_have "$good"
	both_have a
	same "snapshots of both" "5 6" "$(taken alpha) $(taken beta)"
	same "refused" "${#hostile[@]} ${#hostile[@]}" \
	     "$(grep -c "refused" "$tmp/alpha.said") $(grep -c "refused" "$tmp/beta.said")"
	same "lines with control characters" 0 \
	     "$(LC_ALL=C grep -c $'[\001-\010\013-\037\177-\377]' "$tmp/beta.said")"
	check "nothing was run" test ! -e "$tmp/hacked"
	same "other names" "" "$(find "$tmp"/{alpha,beta}/incidents -name '*.data' |
		grep -vE '/(a|(other|alpha|beta)-[0-9]+-[0-9TZ]+)\.[a-z]+\.data$')"

	# Anybody may choose a note, so it must not become a path.
	check "a note that is a path" perf ctl snapshot "${ns}_alpha" --note "../../out"
	mosquitto_pub -t perf/incidents -q 1 -m b
	both_have b
	same "files of that note" "" "$(find "$tmp" -name 'out.*')"
}

# A restarted listener knows which incidents have a file. A series gets one snapshot.
test_again() {
	kill "$listener"
	wait "$listener"
	same "what is left of it" "" "$(pgrep -P "$listener")"
	rm "$BROKER"/*.fifo
	listen beta 1000
	for id in other-7-20261122T031407Z c d; do
		mosquitto_pub -t perf/incidents -q 1 -m "$id"
	done
	eventually "it says which one has none" \
		   grep -q "incident d: no snapshot, as the last one was" "$tmp/beta.said"
	eventually "it has taken the other" has_files beta c
	same "snapshots of beta" 8 "$(taken beta)"
	touch "$BROKER/down"
	check "announce without a broker" \
	      env PERF_SNAPSHOT="${ns}_beta.8" PERF_TRIGGER=1 PERF_NOTE='' "$fleet" announce
	says "that nobody knows" "the other machines were not told"
	rm "$BROKER/down"
}

# Links to files that were removed go away when the next file is saved.
test_limits() {
	local file

	for file in "$tmp"/beta/*.data; do
		rm "$file"
	done
	check "take one" perf ctl snapshot "${ns}_beta" --note e
	eventually "it has a name" has_files beta e
	same "others" "e.beta.data" "$(cd "$tmp/beta/incidents" && echo *)"
}

machine alpha 101
machine beta 102
test_incidents
test_hostile
test_again
test_limits
exit "$failed"
