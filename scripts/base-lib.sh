# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Scripts that can work on more than one base source this after they have set $top.
#
# BASE in the environment: the version of the kernel to work on. The default is the version
# in the file BASE, which is built in build/. Every other version has a folder in bases/
# with its own file BASE, and is built in build/VERSION/.
#
# A base may have only the kernel's half of the series. Its kernel is then used with the
# perf of the default base, as any perf works with any kernel.
#
# Sets base_name (empty for the default), base_dir, base_file and base_build; base_perf,
# where perf is built, and base_perf_linux, the source tree of that perf.

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

# base_has_perf: true if the series of the base has commits for perf
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
