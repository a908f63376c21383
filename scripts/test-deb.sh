#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the packages with the small configuration of the guest, boot their kernel, install
# them in the guest with apt, and use the installed perf.
#
# usage: test-deb.sh
#
# The guest installs into an overlay of the machine's root, which is gone when it ends.

set -euo pipefail

top=$(realpath "$(dirname "$0")/..")
linux=$(realpath "${LINUX:-$top/build/linux}")
out=$top/build/test-deb

# install_and_use: the part that runs in the guest, as root
install_and_use()
{
	local all=/run/all

	mkdir -p /run/copy $all
	mount -t tmpfs -o size=1500M tmpfs /run/copy
	mkdir /run/copy/{up,work}
	mount -t overlay -o lowerdir=/,upperdir=/run/copy/up,workdir=/run/copy/work overlay $all
	for dir in proc sys dev; do mount --rbind /$dir $all/$dir; done
	mount -t tmpfs tmpfs $all/tmp
	# Hide the hooks that make an initramfs or update the boot loader.
	mount -t tmpfs tmpfs $all/etc/kernel

	# Do not index manual pages, which takes minutes here.
	rm -f $all/var/lib/man-db/auto-update
	chroot $all apt-get -q -y install "$out"/*.deb
	chroot $all dpkg-query -W "linux-image-$(uname -r)" "linux-headers-$(uname -r)" \
		linux-perf-persistent
	chroot $all test -e "/lib/modules/$(uname -r)/build/scripts/basic/fixdep"
	chroot $all zgrep -q 'perf ctl save' /usr/share/man/man1/perf-ctl.1.gz
	chroot $all test -e /usr/lib/systemd/system/perf-flight.service
	chroot $all modprobe trace-events-sample
	chroot $all rmmod trace-events-sample
	chroot $all bash -exc '
		cd /tmp
		perf record -P deb -e sched:sched_switch -e cpu-clock -a
		perf ctl -l
		perf ctl -l | grep "^deb .* on "
		perf ctl -r deb
		perf script | grep -q sched_switch
		perf ctl -d deb
		! perf ctl -l | grep "^deb "'
	echo 'installed, booted, answers'
}

if [ "${1-}" = guest ]; then
	set -x
	install_and_use
	exit
fi

mkdir -p "$out/boot/arch/x86/boot"
echo 'CONFIG_OVERLAY_FS=y' >"$out/overlay.config"
"$top/scripts/config.sh" "$linux" "$out/boot" "$top/configs/vm.config" \
	"$out/overlay.config"
"$top/scripts/deb.sh" -o "$out" "$out/boot/.config"

# The guest boots the kernel from its package.
rm -rf "$out/image"
dpkg-deb -x "$out"/linux-image-*.deb "$out/image"
ln -sf "$out"/image/boot/vmlinuz-* "$out/boot/arch/x86/boot/bzImage"
VM_LOG=$out/vm.log "$top/scripts/vm.sh" -k "$out/boot" -s 2 -m 3072 -t 600 \
	"$0" guest >"$out/guest.log" 2>&1 || {
	status=$?
	tail -n 30 "$out/guest.log"
	echo "test-deb: FAILED, log: ${out#"$top"/}/guest.log"
	exit $status
}
grep -A1 '^NAME' "$out/guest.log"
echo "test-deb: ok, $(tail -n 1 "$out/guest.log")"
