#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Remove all that was built. build/linux stays if it has edits that the series does not have.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

keep=''
if [ -e "$linux/.git" ]; then
	load_state
	if [ "$(lgit rev-parse HEAD)" != "$saved_head" ] ||
	   [ -n "$(lgit status --porcelain)" ]; then
		keep='edits that the series does not have'
	fi
	others=$(lgit worktree list --porcelain | sed -n 's/^worktree //p' |
		grep -vxF -e "$linux" -e "$top/build/linux-base" || :)
	[ -z "$others" ] || keep="worktrees: ${others//$'\n'/ }"
fi
if [ -n "$keep" ]; then
	echo "clean: ${linux#"$top"/} stays, it has $keep"
	find "$top/build" -mindepth 1 -maxdepth 1 -not -path "$linux" -exec rm -rf {} +
	lgit worktree prune
else
	rm -rf "$top/build"
fi
