#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the documentation that the series touches: the manual pages of perf, the kernel's
# pages as HTML, kernel-doc comments, and the ABI of sysfs. Any warning about a file that
# the series touches is a failure.
#
# usage: docs.sh
#
# The result is in build/docs.

set -uo pipefail

top=$(realpath "$(dirname "$0")/..")
src=$(realpath "${LINUX:-$top/build/linux}")
out=$top/build/docs
mkdir -p "$out/man" "$out/html"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

"$top/scripts/deps.sh" docs
# The tools are Debian's, so they need Debian's python.
PATH=/usr/sbin:/usr/bin:/sbin:/bin

# touched DIRECTORY...: the files there that the series touches
touched()
{
	git -C "$src" diff --name-only base -- "$@"
}

failed=0
# result WHAT: fail if there are messages about WHAT on stdin
result()
{
	local said

	said=$(cat)
	if [ -n "$said" ]; then
		echo "FAILED: $1"
		head -n 20 <<<"$said"
		failed=1
	else
		echo "ok: $1"
	fi
}

mapfile -t man < <(touched tools/perf/Documentation | sed -n 's#.*/\(perf-.*\.txt\)$#\1#p')
{
	make -s -C "$src/tools/perf/Documentation" OUTPUT="$out/man/" \
		MAN1_TXT="${man[*]}" man 2>&1 || echo 'make man failed'
	for page in "${man[@]/%.txt/.1}"; do
		if [ -e "$out/man/$page" ]; then
			LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$out/man/$page" \
				2>&1 >/dev/null
		else
			echo "there is no $page"
		fi
	done
} | result "manual pages: ${man[*]/%.txt/(1)}"

# Build these directories, and check the warnings about pages of the series.
pages=$(touched Documentation | grep '\.rst$')
dirs=$(xargs -n1 dirname <<<"$pages" | sed 's#^Documentation/##' | sort -u)
make -s -C "$src" O="$out/html" htmldocs SPHINXDIRS="$(xargs <<<"$dirs")" \
	SPHINXOPTS=-q >"$out/html.log" 2>&1
{
	grep -F "$pages" "$out/html.log"
	for page in $pages; do
		find "$out/html" -path "*/$(basename "$page" .rst).html" | grep -q . ||
			echo "there is no page of $page"
	done
} | result "HTML: $(xargs <<<"$pages")"

mapfile -t code < <(touched kernel include/linux include/uapi | grep '\.[ch]$')
for file in "${code[@]}"; do
	(cd "$src" && scripts/kernel-doc -none -Wall "$file" 2>&1 | sed 's/:[0-9]*//' |
		sort >"$out/new"
	 git show "base:$file" >"$out/base.${file##*.}" 2>/dev/null || : >"$out/base.${file##*.}"
	 scripts/kernel-doc -none -Wall "$out/base.${file##*.}" 2>&1 |
		sed "s#$out/base.${file##*.}#$file#; s/:[0-9]*//" | sort >"$out/old"
	 comm -23 "$out/new" "$out/old")
done | result "kernel-doc: ${code[*]}"

(cd "$src" && scripts/get_abi.pl validate --dir Documentation/ABI 2>&1 |
	grep -F "$(touched Documentation/ABI | xargs -n1 basename)") |
	result "ABI: $(touched Documentation/ABI | xargs)"
exit $failed
