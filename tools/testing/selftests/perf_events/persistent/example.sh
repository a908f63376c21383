#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks that the example of Documentation/userspace-api/perf_persistent.rst works as
# described there.

here=$(dirname "$(realpath "$0")")
# If built elsewhere (O=), the example is in the current directory.
example=$here/example
[ -x "$example" ] || example=./example
name=kst_example_$$
marker=kst$$
tmp=$(mktemp -d)
nr=0
failed=0

cleanup()
{
	"$example" delete "$name" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

result()
{
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr $2"
	else
		echo "not ok $nr $2"
		failed=1
	fi
}

echo "TAP version 13"
if [ ! -e /sys/bus/event_source/devices/persistent/type ]; then
	echo "1..0 # SKIP the kernel has no persistent perf events"
	exit 4
fi
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 4
fi
echo "1..5"

"$example" create "$name"
result $? create
! "$example" create "$name" 2>"$tmp/said" && grep -q 'File exists' "$tmp/said"
result $? "create what exists"
cp "$(type -P true)" "$tmp/$marker"
for _ in 1 2 3; do
	"$tmp/$marker"
done
"$example" read "$name" >"$tmp/read"
[ "$(grep -c ": $marker\$" "$tmp/read")" = 3 ]
result $? read
"$example" delete "$name"
result $? delete
! "$example" read "$name" 2>"$tmp/said" && grep -q 'No such file' "$tmp/said"
result $? "read what is gone"
exit $failed
