#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build Debian packages of the kernel and of perf, to try them on a machine.
#
# usage: deb.sh [-g] [-o DIR] [CONFIG]
#
#   -g      with the debug information that the configuration asks for, in a package of its
#           own. Crash dumps need it, and so do programs of BPF that need BTF. It takes ten
#           times the space
#   -o      the directory for the packages and the builds (build/deb)
#   CONFIG  the configuration of the kernel. The default is that of the running kernel,
#           or else the one in Debian's linux-config-6.12
#
# Modules are not signed with a key of Debian's.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

out=$top/build/deb debug=0
while getopts go: opt; do
	case $opt in
	g) debug=1 ;;
	o) out=$(realpath -m "$OPTARG") ;;
	*)
		sed -n '6,14s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
config=${1-}
kernel=$out/kernel perf=$out/perf root=$out/perf-root
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
# The scripts of bindeb-pkg need Debian's python, perl and sh.
PATH=/usr/sbin:/usr/bin:/sbin:/bin

"$top/scripts/deps.sh" kernel perf deb man
cc=gcc
! command -v ccache >/dev/null || cc='ccache gcc'

# write_config FILE
write_config()
{
	local arch debian

	arch=$(dpkg --print-architecture)
	if [ -n "$config" ]; then
		echo "deb: the configuration is $config"
		cp "$config" "$1"
	elif [ -r /proc/config.gz ]; then
		echo 'deb: the configuration is that of the running kernel, /proc/config.gz'
		zcat /proc/config.gz >"$1"
	elif [ -r "/boot/config-$(uname -r)" ]; then
		echo "deb: the configuration is /boot/config-$(uname -r)"
		cp "/boot/config-$(uname -r)" "$1"
	else
		"$top/scripts/deps.sh" config
		debian=/usr/src/linux-config-6.12/config.${arch}_none_$arch.xz
		echo "deb: the configuration is Debian's, $debian"
		xzcat "$debian" >"$1"
	fi
}

profiles=
if [ $debug = 1 ]; then
	# pahole, to make BTF
	"$top/scripts/deps.sh" btf
	debug_options=()
else
	profiles=pkg.linux-upstream.nokerneldbg
	debug_options=(-d DEBUG_INFO -d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT -d DEBUG_INFO_DWARF4
		-d DEBUG_INFO_DWARF5 -e DEBUG_INFO_NONE)
fi

# What was edited in the O= directory stays, unless another configuration is asked for.
mkdir -p "$kernel"
asked=$out/config-$debug
if [ -n "$config" ] || [ ! -e "$asked" ]; then
	other=$out/config-$((1 - debug))
	if [ -z "$config" ] && [ -e "$other" ]; then
		mv "$other" "$asked"
	else
		rm -f "$other"
		write_config "$asked"
	fi
	cp "$asked" "$kernel/.config.new"
	"$linux/scripts/config" --file "$kernel/.config.new" -e PERF_EVENTS_PERSISTENT \
		"${debug_options[@]}" --set-str SYSTEM_TRUSTED_KEYS '' \
		--set-str SYSTEM_REVOCATION_KEYS '' --set-str MODULE_SIG_KEY certs/signing_key.pem
	mv "$kernel/.config.new" "$kernel/.config"
fi

version=$(make -s -C "$linux" kernelversion)
revision=1~$(lgit log -1 --format=%cd --date=format:%Y%m%d.%H%M)
kmake()
{
	make -s -C "$linux" O="$kernel" CC="$cc" HOSTCC="$cc" LOCALVERSION=-persistent \
		"-j$(nproc)" "$@"
}
kmake olddefconfig
grep -qx 'CONFIG_PERF_EVENTS_PERSISTENT=y' "$kernel/.config" ||
	die 'this configuration cannot have CONFIG_PERF_EVENTS_PERSISTENT'

echo "deb: building the kernel in ${kernel#"$top"/}, log: ${out#"$top"/}/kernel.log"
rm -f "$out"/*.deb
# The packages are written beside the O= directory. deps.sh has installed the dependencies,
# so dpkg need not check them (-d).
KDEB_PKGVERSION=$version-$revision DPKG_FLAGS=-d DEB_BUILD_PROFILES=$profiles \
	kmake bindeb-pkg >"$out/kernel.log" 2>&1 ||
	{ tail -n 30 "$out/kernel.log" >&2; die 'the kernel package was not built'; }
# These are for compiling programs, and would replace Debian's.
rm -f "$out"/linux-libc-dev_*.deb "$out"/linux-upstream_*

echo "deb: building perf, log: ${out#"$top"/}/perf.log"
rm -rf "$root"
mkdir -p "$perf" "$root/DEBIAN"
make -s -C "$linux/tools/perf" O="$perf" CC="$cc" HOSTCC="$cc" "-j$(nproc)" \
	BUILD_BPF_SKEL=0 NO_LIBLLVM=1 NO_SHELLCHECK=1 \
	DESTDIR="$root" prefix=/usr install-bin >"$out/perf.log" 2>&1 ||
	{ tail -n 30 "$out/perf.log" >&2; die 'perf was not built'; }
mkdir -p "$perf/man"
make -s -C "$linux/tools/perf/Documentation" OUTPUT="$perf/man/" "-j$(nproc)" \
	DESTDIR="$root" prefix=/usr install-man >"$out/man.log" 2>&1 ||
	{ tail -n 30 "$out/man.log" >&2; die 'the manual pages were not built'; }
gzip -9n "$root"/usr/share/man/man1/*
install -D -m 644 -t "$root/usr/lib/systemd/system" \
	"$linux"/tools/perf/scripts/systemd/perf-{flight,flight-save@,flight-snapshots,record}.service
strip "$root/usr/bin/perf"

# dpkg-shlibdeps finds the libraries that perf needs. It works only in a source package.
mkdir -p "$out/shlibs/debian"
touch "$out/shlibs/debian/control"
depends=$(cd "$out/shlibs" && dpkg-shlibdeps -O "$root/usr/bin/perf" 2>/dev/null |
	sed -n 's/^shlibs:Depends=//p')
# Conflicts without Replaces: Debian's perf must be removed before this one is unpacked, as
# its package cannot clean up when another perf is there.
cat >"$root/DEBIAN/control" <<END
Package: linux-perf-persistent
Version: $version-$revision
Architecture: $(dpkg --print-architecture)
Maintainer: $(lgit log -1 --format='%an <%ae>')
Depends: $depends
Conflicts: linux-perf
Provides: linux-perf
Section: devel
Priority: optional
Description: perf with persistent events
 Performance analysis tool of the Linux kernel, with the commands that look
 after perf events that the kernel keeps without a process.
END
dpkg-deb --root-owner-group -b "$root" "$out" >/dev/null
(cd "$out" && du -h -- *.deb)
times >"$out/times"
echo "deb: $(tail -n 1 "$out/times") of processor time (user, system), $(du -sh "$out" | cut -f 1) in ${out#"$top"/}"
