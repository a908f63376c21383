#!/bin/sh
# Make the .config of an O= directory: tinyconfig with fragments merged in.
#
# usage: config.sh SOURCE BUILD_DIR FRAGMENT...
#
# Fails when an option asked for did not end up in .config, unless this
# source does not know the option at all: the unpatched base lacks our own.

set -eu

src=$1 out=$2
shift 2

mkdir -p "$out"
make -s -C "$src" O="$out" tinyconfig
"$src/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" "$@" \
	>"$out/merge.log"
make -s -C "$src" O="$out" olddefconfig

# KEY=VALUE of each option, "is not set" being =n; the last fragment wins.
wanted=$(sed -n -e 's/^\(CONFIG_[A-Za-z0-9_]*=.*\)/\1/p' \
	-e 's/^# \(CONFIG_[A-Za-z0-9_]*\) is not set$/\1=n/p' "$@" |
	awk -F= '{ v[$1] = $0 } END { for (k in v) print v[k] }' | sort)

bad=0
for opt in $wanted; do
	name=${opt%%=*}
	case $opt in
	*=n)	# An unknown option is as good as one that is off.
		if ! grep -q "^$name=" "$out/.config"; then
			continue
		fi
		;;
	*)
		if grep -qxF "$opt" "$out/.config"; then
			continue
		fi
		if ! grep -rqw --include='Kconfig*' "config ${name#CONFIG_}" "$src"; then
			echo "config: this source has no $name" >&2
			continue
		fi
		;;
	esac
	echo "config: wanted $opt, got $(grep -w "$name" "$out/.config" || echo nothing)" >&2
	bad=1
done
if [ $bad -ne 0 ]; then
	rm -f "$out/.config"
fi
exit $bad
