#!/bin/bash
# All checks that need no kernel: the scripts, the series and its style.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
cd "$top" || exit
"$top/scripts/deps.sh" check || exit
failed=0

check()
{
	local name=$1
	shift
	if "$@"; then
		echo "check: $name: ok"
	else
		echo "check: $name: FAILED"
		failed=1
	fi
}

# shellcheck disable=SC2317 # called by check
style()
{
	# The kernel's own checker. Warnings are for people to judge; errors
	# are errors. MAINTAINERS is the maintainers' business.
	(cd build/linux && perl scripts/checkpatch.pl --strict --quiet --show-types \
		--ignore FILE_PATH_CHANGES "$top"/build/series/*.patch) >build/checkpatch.log
	grep -v '^$' build/checkpatch.log
	! grep -q '^ERROR' build/checkpatch.log
}

mapfile -t scripts < <(grep -lE '^(#!/bin/(ba)?sh|# shellcheck shell)' scripts/*.sh bench/*.sh .ci/*)
check shellcheck shellcheck "${scripts[@]}"
check "patches/ agrees with build/linux" scripts/refresh.sh -n
check "git am" scripts/check-series.sh
# What make test-hazards takes away is still there.
check hazards.patch patch --dry-run -s -F3 -p1 -d build/linux -i "$top/scripts/hazards.patch"
if compgen -G 'build/series/*.patch' >/dev/null; then
	check checkpatch style
fi
exit $failed
