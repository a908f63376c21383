#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check that the patches of the other bases fit the new files as they stand: a change of a
# new file that a later patch changes, too, has to be made in that patch for each base.
# The kernels of the bases are not needed.

set -euo pipefail

if [ -z "${BASE-}" ]; then
	status=0
	for base in "$(dirname "$0")"/../bases/*/; do
		base=$(basename "$base")
		if ! BASE=$base "$0"; then
			echo "${0##*/}: make the change in bases/$base/patches, too" >&2
			status=1
		fi
	done
	exit $status
fi

. "$(dirname "$0")/series-lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
series_root "$tmp"
all_lines "$root" >"$tmp/lines"
first_versions "$root" "$tmp"
