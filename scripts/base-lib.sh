# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the scripts that can work on more than one base, when they have set top.
#
# BASE: the version of the kernel to work on. The usual one is that of the file BASE, and
# what is made of it is in build/ itself. Each other one is a folder of bases/, with a file
# BASE of its own, and what is made of it is in build/VERSION/.
#
# Sets base_name (empty for the usual one), base_dir, base_file and base_build.

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
