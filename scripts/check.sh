#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All checks that need no kernel: the scripts, the series and its style.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
cd "$top" || exit
"$top/scripts/deps.sh" check series || exit
failed=0

check()
{
	local name=$1 start=$SECONDS
	shift
	if "$@"; then
		echo "check: $name: ok, $((SECONDS - start)) s"
	else
		echo "check: $name: FAILED"
		failed=1
	fi
}

# Shell scripts of the series, as perf's own build looks at them.
# shellcheck disable=SC2317 # called by check
shell()
{
	shellcheck "${scripts[@]}" &&
		git ls-files 'tools/*.sh' | xargs -r shellcheck -s bash -a -S warning
}

# shellcheck disable=SC2317 # called by check
words()
{
	git ls-files | grep -vE '\.(svg|json)$|^COPYING$' |
		xargs codespell -I scripts/codespell.ignore --ignore-regex '^@@ .*'
}

# Not where there is no place for it, nor where no such file of the kernel has one.
# shellcheck disable=SC2317 # called by check
licences()
{
	local file

	! git ls-files | while read -r file; do
		case $file in
		COPYING | scripts/codespell.ignore | *.md | *.svg | *.json | *.patch | */cover-letter) ;;
		Documentation/ABI/* | tools/perf/Documentation/*.txt) ;;
		tools/testing/*/config | tools/testing/*/settings) ;;
		*) head -n 5 "$file" | grep -q SPDX-License-Identifier || echo "$file has no SPDX" ;;
		esac
	done | grep .
}

# Each series has one, of less than 60 lines.
# shellcheck disable=SC2317 # called by check
letters()
{
	local name lines

	! sed -e '/^#/d' -e 's/[[:space:]].*//' patches/layout | while read -r name; do
		lines=$(wc -l <"patches/$name/cover-letter")
		[ "$lines" -lt 60 ] || echo "patches/$name/cover-letter has $lines lines"
	done 2>&1 | grep .
}

# What make test-hazards takes away is still there, and each hazard takes something away.
# shellcheck disable=SC2317 # called by check
hazards()
{
	local patch=$top/scripts/hazards.patch name number ok=0

	patch --dry-run -s -F0 -p1 -d build/linux -i "$patch" || return
	while IFS='|' read -r name number _; do
		case $name in
		'' | \#*) continue ;;
		esac
		if ! grep -q "^+.*perf_hazard [!=]= $number\>" "$patch"; then
			echo "hazards.patch has no perf_hazard == $number, of $name" >&2
			ok=1
		fi
	done <"$top/scripts/hazards.list"
	return "$ok"
}

# The kernel's own checker, less what is argued in checkpatch.allow.
# shellcheck disable=SC2317 # called by check
style()
{
	# shellcheck source=scripts/series-lib.sh
	. scripts/series-lib.sh
	checkpatch()
	{
		PATH=/usr/sbin:/usr/bin:/sbin:/bin perl scripts/checkpatch.pl \
			--strict --terse --showfile --show-types --no-summary "$@"
		# It says 1 when it has found something, and perl more when it died.
		[ $? -le 1 ]
	}
	export -f checkpatch
	# shellcheck disable=SC2016,SC2046 # for each shell; names without spaces
	exported $(series_names) | (
		cd build/linux || exit
		# What it says of a patch is short, so that lines do not mix.
		xargs -P "$(nproc)" -n 1 bash -c 'checkpatch "$0"' || exit
		for file in "$top"/bench/*.[ch]; do
			checkpatch -f "$file" || exit
		done
	) >build/checkpatch.log && scripts/checkpatch-argued.sh <build/checkpatch.log
}

mapfile -t scripts < <(grep -lE '^(#!/bin/(ba)?sh|# shellcheck shell)' scripts/*.sh bench/*.sh .ci/*)
check shellcheck shell
check codespell words
check SPDX licences
check "patches/ agrees with build/linux" scripts/refresh.sh -n
check "patches of other bases" scripts/check-bases.sh
check "cover letters" letters
check "git am" scripts/export.sh -c
check floors scripts/check-floors.sh
check hazards.patch hazards
if compgen -G 'build/series/*/*.patch' >/dev/null; then
	check checkpatch style
fi
exit $failed
