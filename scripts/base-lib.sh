# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the scripts that can work on more than one base, when they have set top.
#
# BASE: the version of the kernel to work on. The usual one is that of the file BASE, and
# what is made of it is in build/ itself. Each other one is a folder of bases/, with a file
# BASE of its own, and what is made of it is in build/VERSION/.
#
# A base may have the kernel's half of the series alone. Its kernel is used with the perf of the
# usual base then, as a perf is for any kernel.
#
# Sets base_name (empty for the usual one), base_dir, base_file and base_build; base_perf, where
# perf is built, and base_perf_linux, the tree that it is built of.

base_name=${BASE-}
# shellcheck disable=SC2034,SC2154 # for who sources this, and set there
if [ -z "$base_name" ] || grep -qx "PACKAGE=linux-source-$base_name" "$top/BASE"; then
	base_name='' base_dir=$top base_file=$top/BASE base_build=$top/build
else
	base_dir=$top/bases/$base_name base_file=$top/bases/$base_name/BASE
	base_build=$top/build/$base_name
	if [ ! -e "$base_file" ]; then
		echo "${0##*/}: there is no base $base_name; bases/ has: $(cd "$top/bases" && echo *)" >&2
		exit 1
	fi
fi

# Has the base commits of perf?
base_has_perf()
{
	local name file

	while read -r name _; do
		file=$base_dir/patches/$name/series
		[ -e "$file" ] || file=$top/patches/$name/series
		! grep -qs '^[^#]* tools/perf/' "$file" || return 0
		! grep -qsr '^+++ b/tools/perf/' "${file%/series}" || return 0
	done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$base_dir/patches/layout")
	return 1
}

# shellcheck disable=SC2034 # for who sources this
if [ -z "$base_name" ] || base_has_perf; then
	base_perf=$base_build/perf base_perf_linux=$base_build/linux
else
	base_perf=$top/build/perf base_perf_linux=$top/build/linux
fi
