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
# ARCH in the environment: arm64 or s390, to compile for that architecture, and to emulate
# it. The default is x86. What is compiled is then in build/ARCH or build/VERSION/ARCH.
#
# Sets base_name (empty for the default), base_dir, base_file and base_build; arch_name
# (empty for x86), arch_image, the kernel's image below its O= directory, and arch_build,
# where all that is compiled is; base_perf, where perf is built, and base_perf_linux, the
# source tree of that perf. For another architecture also arch_debian, what Debian calls
# it, arch_gnu, what its compiler is called, and sysroot, where its packages are.

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

# shellcheck disable=SC2034 # for who sources this
case ${ARCH-} in
'' | x86 | x86_64)
	unset ARCH
	arch_name='' arch_image=arch/x86/boot/bzImage
	;;
arm64) arch_name=$ARCH arch_debian=arm64 arch_gnu=aarch64-linux-gnu arch_image=arch/arm64/boot/Image ;;
s390) arch_name=$ARCH arch_debian=s390x arch_gnu=s390x-linux-gnu arch_image=arch/s390/boot/bzImage ;;
*)
	echo "${0##*/}: ARCH is '$ARCH', not x86, arm64 or s390" >&2
	exit 1
	;;
esac
# shellcheck disable=SC2034
arch_build=$base_build${arch_name:+/$arch_name} sysroot=${arch_name:+$top/build/$arch_name/root}

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
	base_perf=$arch_build/perf base_perf_linux=$base_build/linux
else
	base_perf=$top/build${arch_name:+/$arch_name}/perf base_perf_linux=$top/build/linux
fi
