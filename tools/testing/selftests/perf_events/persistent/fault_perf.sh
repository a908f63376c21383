#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs perf with something failing in the kernel, at places spread over all that perf does
# from its first event on. perf must fail and say so, or do all that it was asked for, and
# must never leave half a namespace. H15
#
# usage: fault_perf.sh [PLACES]
#
# PERF in the environment: the perf to run.

# shellcheck disable=SC2317 # functions that are called by name

# In a mount namespace, all mounts are gone when the script ends, however it does.
if [ -z "${FAULT_PERF_MOUNTS-}" ] && [ "$(id -u)" = 0 ]; then
	FAULT_PERF_MOUNTS=1 exec unshare -m "$0" "$@"
fi

here=$(dirname "$(realpath "$0")")
perf=${PERF:-perf}
places=${1:-60}
pmu=/sys/bus/event_source/devices/persistent
name=kst_fault_$$
far=1000000000
seconds=60
tmp=$(mktemp -d)
failed=0

skip()
{
	echo "ok 1 # SKIP $1"
	exit 4
}

cleanup()
{
	[ ! -e "$pmu/events/$name" ] || "${inside[@]}" "${delete[@]}"
	for dir in proc sys dev; do
		! mountpoint -q "$tmp/$dir" || umount -l "$tmp/$dir"
	done
	rm -rf --one-file-system "$tmp"
}
trap cleanup EXIT

echo "TAP version 13"
echo "1..4"
[ -n "${FAULT_PERF_MOUNTS-}" ] || skip "needs root"
[ -e "$pmu/type" ] || skip "the kernel has no persistent perf events"
[ -e /proc/self/fail-nth ] || skip "the kernel has no fault injection"
"$perf" ctl -h 2>&1 | grep -q namespace || skip "perf has no 'ctl'"

# Run from local directories: a network file system may miscount its open files when one
# of its own allocations fails, and then nothing can be opened any more.
program=$(type -P "$perf")
# If built elsewhere (O=), the program is in the current directory.
runner=$here/fault_run
[ -e "$runner" ] || runner=./fault_run
mkdir "$tmp"/{proc,sys,dev,tmp,lib}
for file in $(ldd "$program" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }'); do
	cp -L "$file" "$tmp/lib"
done
loader=$(ldd "$program" | awk '$1 ~ "^/" { print $1 }')
mkdir -p "$tmp${loader%/*}"
cp -L "$loader" "$tmp$loader"
cp -L "$program" "$tmp/perf"
cp -L "$runner" "$tmp/fault_run"
for dir in proc sys dev; do
	mount --rbind "/$dir" "$tmp/$dir" || skip "needs to mount /$dir elsewhere"
done
inside=(env LC_ALL=C LD_LIBRARY_PATH=/lib HOME=/tmp chroot "$tmp")

# run N COMMAND...: the N-th place fails; $left says how much of N was left
run()
{
	local nth=$1 status

	shift
	timeout "$seconds" "${inside[@]}" /fault_run "$nth" /left "$@" >"$tmp/out" 2>&1
	status=$?
	left=$(cat "$tmp/left" 2>/dev/null || echo 0)
	return "$status"
}

complain()
{
	echo "# $*"
	sed 's/^/# /' "$tmp/out"
	bad=1
}

exists()
{
	[ -e "$pmu/events/$name" ]
}

create=(/perf record -P "$name" -e page-faults -e context-switches -a -m 4)
list=(/perf ctl -l "$name")
read=(/perf record -B -o /data -e "persistent/$name/" -a)
delete=(/perf ctl -d "$name")

make()
{
	exists || "${inside[@]}" "${create[@]}" >"$tmp/out" 2>&1 || complain "it can't be created"
}

unmake()
{
	! exists || "${inside[@]}" "${delete[@]}" >"$tmp/out" 2>&1 || complain "it can't be deleted"
}

# Prints state, events and CPUs of the namespace in a listing, whatever else it says.
shape_of()
{
	awk -v name="$name" '$1 == name { print $2, $3, $4; exit }' "$1"
}

# Whether all of the namespace is there, as without faults
whole()
{
	"${inside[@]}" "${list[@]}" >"$tmp/now" 2>&1 &&
		[ "$(shape_of "$tmp/now")" = "$shape" ]
}

# What must be true after each command, given its exit status
after_create()
{
	if [ "$1" = 0 ]; then
		whole
	else
		! exists
	fi
}

after_list()
{
	whole && { [ "$1" != 0 ] || [ "$(shape_of "$tmp/out")" = "$shape" ]; }
}

after_read()
{
	whole && { [ "$1" != 0 ] || "${inside[@]}" /perf script -i /data >"$tmp/out" 2>&1; }
}

after_delete()
{
	if exists; then
		[ "$1" != 0 ] && whole
	else
		# It may fail after the namespace is gone.
		true
	fi
}

# try WHAT BEFORE N COMMAND...: runs the command N times, each with another place failing
try()
{
	local what=$1 before=$2 count=$3 total nth i status errors=0 hits=0

	shift 3
	bad=0
	"$before"
	run "$far" "$@" || complain "$what: fails without a fault"
	total=$((far - left))
	for ((i = 1; i <= count; i++)); do
		nth=$((total * (i - 1) / count + 1))
		"$before"
		rm -f "$tmp/data" "$tmp/left"
		run "$nth" "$@"
		status=$?
		said=$(<"$tmp/out")
		[ "$left" != 0 ] || hits=$((hits + 1))
		[ "$status" = 0 ] || errors=$((errors + 1))
		if [ "$status" = 124 ]; then
			complain "$what, place $nth: no end"
		elif [ "$status" != 0 ] && [ -z "$said" ]; then
			complain "$what, place $nth: fails with $status and does not say why"
		fi
		if ! "after_$what" "$status"; then
			echo "# it said: $said"
			complain "$what, place $nth: exit status $status, but see what is there:"
			sed 's/^/# /' "$tmp/now"
		fi
	done
	echo "# $what: of $total places $count were tried, $hits failed, as did perf $errors times"
	[ "$hits" -gt 0 ] || complain "$what: nothing was made to fail"
	nr=$((nr + 1))
	if [ "$bad" = 0 ]; then
		echo "ok $nr $what"
	else
		echo "not ok $nr $what"
		failed=1
	fi
}

nr=0
: >"$tmp/now"
make
"${inside[@]}" "${list[@]}" >"$tmp/out" 2>&1 || complain "it can't be listed"
shape=$(shape_of "$tmp/out")
try create unmake "$places" "${create[@]}"
try list make $((places / 3)) "${list[@]}"
try read make $((places / 3)) "${read[@]}"
try delete make $((places / 3)) "${delete[@]}"
exit "$failed"
