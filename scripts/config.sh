#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Create the .config of an O= directory: tinyconfig with fragments merged in.
#
# usage: config.sh SOURCE BUILD_DIR FRAGMENT...
#
# After vm.config comes the fragment of the architecture, configs/arch/x86.config, or that
# of ARCH in the environment.
#
# Fails if a requested option is not in the resulting .config, unless the source for this
# architecture does not have the option at all: the unpatched base lacks the options of the
# series.

set -euo pipefail

src=$1 out=$2
shift 2
arch=${ARCH:-x86}
arch=${arch%_64}
case $1 in
*/vm.config) set -- "$1" "${1%/*}/arch/$arch.config" "${@:2}" ;;
esac
for file; do
	[ -e "$file" ] || { echo "config: there is no $file" >&2; exit 1; }
done

# Nothing to do if nothing has changed since the last time. Only the fragments and the
# options that the series adds ever change.
stamp=$({
	cat "$0" "$@"
	git -C "$src" diff base -- '*Kconfig*'
} | sha256sum)
if [ -e "$out/.config" ] && [ "$(cat "$out/.config-stamp" 2>/dev/null)" = "$stamp" ]; then
	exit 0
fi

mkdir -p "$out"
echo "config: ${out##*/} from tinyconfig and ${*##*/}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
make -s -C "$src" O="$tmp" tinyconfig
"$src/scripts/kconfig/merge_config.sh" -m -O "$tmp" "$tmp/.config" "$@" \
	>"$out/merge.log"
make -s -C "$src" O="$tmp" olddefconfig

# NAME=VALUE of each option, where "is not set" counts as =n; the last fragment wins.
wanted=$(sed -n -e 's/^\(CONFIG_[A-Za-z0-9_]*=.*\)/\1/p' \
	-e 's/^# \(CONFIG_[A-Za-z0-9_]*\) is not set$/\1=n/p' "$@" |
	awk -F= '{ v[$1] = $0 } END { for (k in v) print v[k] }' | sort)

bad=0
for opt in $wanted; do
	name=${opt%%=*}
	case $opt in
	*=n)	# An unknown option is as good as one that is off.
		! grep -q "^$name=" "$tmp/.config" || bad=1
		;;
	*)
		if grep -qxF "$opt" "$tmp/.config"; then
			continue
		fi
		if ! grep -rqwE --include='Kconfig*' --exclude-dir=arch \
				"(menu)?config ${name#CONFIG_}" "$src" \
				"$src/arch/Kconfig" "$src/arch/$arch/"; then
			echo "config: this source has no $name for $arch"
			continue
		fi
		bad=1
		;;
	esac
	if [ $bad = 1 ]; then
		echo "config: wanted $opt, got" \
			"$(grep -w "$name" "$tmp/.config" || echo nothing)" >&2
		exit 1
	fi
done

# Keep the file and its time if the content is the same, so that nothing is built again.
cmp -s "$tmp/.config" "$out/.config" || cp "$tmp/.config" "$out/.config"
echo "$stamp" >"$out/.config-stamp"
