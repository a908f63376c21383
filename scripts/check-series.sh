#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Check every commit of all series by itself, as its reviewers will.
#
# usage: check-series.sh [-l] [-c COLUMNS] [N | N-M | SERIES]...
#
#   -l          check all commits as one change of the base instead, and build only
#               the objects of files that they touch, not a whole kernel
#   -c COLUMNS  only these columns of the table, as in "am style"
#   N, N-M      only these commits, counted from the base
#   SERIES      only the commits of this series, as in "1-fixes"
#
# Prints a table with a row for each commit. "-" marks a check that the commit cannot
# affect, "?" one that was not requested and has no result from before:
#
#   am      its patch applies and gives its tree
#   style   checkpatch.pl --strict, except for what scripts/checkpatch.allow explains,
#           and shellcheck as perf runs it
#   words   codespell, on the message and on added lines
#   doc     kernel-doc gives no warning that it does not give on the base
#   who     get_maintainer.pl finds a person for each file
#   on off  the kernel builds with CONFIG_PERF_EVENTS_PERSISTENT on and off, and W=1
#           gives no warning that it does not give on the base; "=": the option does
#           not exist yet, so off is the same as on
#   sparse  sparse gives no warning either, with on and off
#   perf    perf builds; it has no option, and its warnings are errors
#   tests   the selftests build without a warning
#
# Good results are kept in build/check-series/good, under a hash of the contents that they
# depend on. So the script continues where it was interrupted, and checks a commit again
# only if something relevant has changed. The logs of failed checks are in
# build/check-series/log.

# shellcheck disable=SC2317 # cell calls most of these functions
set -uo pipefail
. "$(dirname "$0")/series-lib.sh"

whole=0 columns='am style words doc who on off sparse perf tests'
while getopts lc: opt; do
	case $opt in
	l) whole=1 ;;
	c) columns=$OPTARG ;;
	*)
		sed -n '6,13s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
work=$base_build/check-series
configs=("$top"/configs/{vm,kunit}.config)
[ -z "$base_name" ] || configs+=("$base_dir/config")
src=$work/src good=$work/good logs=$work/log
dir=tools/testing/selftests/perf_events/persistent
jobs=-j$(nproc)
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

"$top/scripts/deps.sh" kernel perf selftests check series || exit
# The tools are Debian's, so they need Debian's python.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cc=gcc
! command -v ccache >/dev/null || cc='ccache gcc'

mkdir -p "$good" "$logs"
exec 9>"$work/.lock"
flock -n 9 || die 'it is running already'
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# An interrupted check must not count as a failure of its commit.
trap 'exit 130' INT TERM

hash_of() { sha256sum | cut -c1-24; }
script=$(cat "$0" "$top"/scripts/{checkpatch.allow,codespell.ignore} | hash_of)
tools=$({ gcc --version; sparse --version; grep -hE '^(# )?CONFIG_' \
	"${configs[@]}" "$top/configs/arch/x86.config"; } | hash_of)
all_touched=$(lgit diff --name-only --no-renames base HEAD)

# --- What a commit touches, by what is built from it.

# objtool, which works on each object of the kernel, is built from these.
objtool_trees='^tools/(objtool|lib/subcmd|include|build|scripts|arch)/'
perf_trees='^tools/(perf|lib|include|build|scripts|arch)/'

kernel_files() { grep -vE '^(tools|Documentation|MAINTAINERS)'; }

# kernel_id COMMIT, perf_id COMMIT: what the kernel, or perf, is built from
kernel_id()
{
	{
		lgit ls-tree "$1" | grep -vP '\t(tools|Documentation|MAINTAINERS|\..*)$'
		lgit ls-tree "$1" tools/{objtool,lib/subcmd,include,build,scripts,arch}
	} | hash_of
}
perf_id() { lgit ls-tree "$1" tools/{perf,lib,include,build,scripts,arch} | hash_of; }

checkout()
{
	if [ ! -e "$src/Makefile" ]; then
		lgit worktree prune
		rm -rf "$src"
		lgit worktree add -f -q --detach "$src" base || return
	fi
	git -C "$src" checkout -q -f --detach "$1"
}

# --- Warnings. Line numbers are removed, so that they can be compared with those of the
# base. For a file that the series touches, each warning counts. For other files, their
# number depends on how often the file is included, so each text counts once.
warnings()
{
	sed -E -e "s#[^ ]*/check-series/src/##g" -e 's/:[0-9]+(:[0-9]+)?:/:/g' "$@" |
		grep -E '(warning|error|WARNING): ' | sort >"$tmp/warnings"
	grep -F "$all_touched" "$tmp/warnings"
	grep -vF "$all_touched" "$tmp/warnings" | sort -u
}

# new_warnings FILE OF-BASE: print warnings that the base does not have, and fail if there
# are any
new_warnings()
{
	! comm -23 <(warnings "$1" | sort) <(sort "$2") | grep .
}

# --- The checks. Each prints what is wrong and fails.

patch_of() { lgit format-patch -q --stdout --no-signature --zero-commit -1 "$1"; }

check_am()
{
	export GIT_INDEX_FILE=$tmp/index
	lgit read-tree "$commit^" &&
	patch_of "$commit" | lgit apply --cached --whitespace=nowarn &&
	if [ "$(lgit write-tree)" != "$(lgit rev-parse "$commit^{tree}")" ]; then
		echo 'the patch gives another tree than the commit has'
		false
	fi
	local status=$?
	unset GIT_INDEX_FILE
	return "$status"
}

check_style()
{
	local file status=0

	patch_of "$commit" >"$tmp/patch"
	(cd "$linux" && perl scripts/checkpatch.pl --strict --terse --showfile --show-types \
		--no-summary "$tmp/patch" || :) | "$top/scripts/checkpatch-argued.sh" || status=1
	grep '\.sh$' <<<"$touched" >"$tmp/scripts"
	while read -r file; do
		lgit show "$commit:$file" >"$tmp/script.sh"
		shellcheck -s bash -a -S warning "$tmp/script.sh" | sed "s#$tmp/script.sh#$file#" ||
			status=1
	done <"$tmp/scripts"
	return "$status"
}

check_words()
{
	{
		lgit log --format=%B "$from..$commit"
		lgit diff --no-renames "$from" "$commit" | sed -n '/^+++ /d; s/^+//p'
	} | codespell -I "$top/scripts/codespell.ignore" - | grep . && return 1
	return 0
}

check_doc()
{
	local file status=0

	for file in $(kernel_files <<<"$touched" | grep '\.[ch]$'); do
		mkdir -p "$tmp/new/${file%/*}" "$tmp/old/${file%/*}"
		lgit show "$commit:$file" >"$tmp/new/$file" 2>/dev/null || continue
		lgit show "base:$file" >"$tmp/old/$file" 2>/dev/null || :
		for at in old new; do
			(cd "$tmp/$at" && "$linux/scripts/kernel-doc" -none -Wall "$file" 2>&1) |
				sed 's/:[0-9][0-9]*//' | sort >"$tmp/$at.said"
		done
		! comm -23 "$tmp/new.said" "$tmp/old.said" | grep . || status=1
	done
	return "$status"
}

# A file without a maintainer on the base may stay without one.
who_of()
{
	local file=$1 answer

	answer=$(cd "$linux" && perl scripts/get_maintainer.pl --no-git --no-git-fallback \
		--no-tree --rolestats -f "$file" 2>&1)
	grep -qE '\((maintainer|supporter|odd fixer|reviewer)' <<<"$answer" ||
		git -C "$linux" cat-file -e "base:$file" 2>/dev/null ||
		echo "nobody looks after $file"
}
export -f who_of

check_who()
{
	export linux
	# Deleted files need no maintainer.
	# shellcheck disable=SC2016 # for the shell that xargs starts
	! for file in $touched; do
		[ ! -e "$linux/$file" ] || echo "$file"
	done | xargs -r -P "$(nproc)" -I{} bash -c 'who_of "$1"' - {} | grep .
}

# kernel_make SET TARGET...
kernel_make()
{
	local o=$work/$1
	shift
	# check_doc() does the kernel-doc part of W=1.
	make -s -C "$src" O="$o" CC="$cc" HOSTCC="$cc" LOCALVERSION= W=1 cmd_checkdoc= \
		"$jobs" "$@"
}

kernel_config()
{
	# Options that depend on it must be off, too.
	printf '# CONFIG_%s is not set\n' PERF_EVENTS_PERSISTENT PERF_PERSISTENT_KUNIT_TEST \
		SAMPLE_PERF_PERSISTENT >"$work/off.config"
	echo 'CONFIG_PERF_EVENTS_PERSISTENT=y' >"$work/on.config"
	# Most objects are the same with and without the option.
	[ "$1" = on ] || [ -e "$work/off" ] || [ ! -e "$work/on/vmlinux.o" ] ||
		cp -a "$work/on" "$work/off"
	"$top/scripts/config.sh" "$src" "$work/$1" "${configs[@]}" \
		"$work/$1.config"
}

# objects SET FILE...: the objects of these files that this configuration builds
objects()
{
	local file set=$1
	shift
	for file; do
		case $file in
		*.c) ;;
		*) continue ;;
		esac
		[ -e "$src/$file" ] || continue
		# This file is included there and has no object of its own.
		[ "$file" != kernel/sched/clock.c ] || file=kernel/sched/build_utility.c
		# Without the option, or before it exists, these files are not built.
		if [[ $file = @(kernel/events/persistent|samples/perf_persistent/)*.c ]] &&
		   { [ "$set" = off ] ||
		     ! grep -qs PERF_EVENTS_PERSISTENT "$src/init/Kconfig"; }; then
			continue
		fi
		echo "${file%.c}.o"
	done
}

# build SET LOG FILE...: build the kernel in $src, or with -l only its objects of FILEs
build()
{
	local set=$1 log=$2 files
	shift 2
	mapfile -t files < <(objects "$set" "$@")
	kernel_config "$set" >"$log" 2>&1 || return
	# Build these in any case, so that their warnings are in the log.
	[ ${#files[@]} -eq 0 ] || (cd "$src" && touch "${files[@]/%.o/.c}")
	if [ "$whole" = 1 ]; then
		kernel_make "$set" "${files[@]}"
	elif [ $# -gt 0 ] || [ "$commit" = "$last" ]; then
		kernel_make "$set" vmlinux modules
	else
		# Only objtool
		kernel_make "$set" prepare
	fi >>"$log" 2>&1
}

run_sparse()
{
	local set=$1 log=$2 files
	shift 2
	mapfile -t files < <(objects "$set" "$@")
	[ ${#files[@]} -gt 0 ] || return 0
	kernel_make "$set" C=2 "${files[@]}" >"$log" 2>&1
}

# The base does not have the option, so one build of it stands for on and off.
base_kernel()
{
	local files

	base_log=$work/base-$whole
	[ ! -e "$base_log.$tools" ] || return 0
	mapfile -t files < <(kernel_files <<<"$all_touched")
	rm -f "$base_log".*
	# Objects that are built already would give no warnings again.
	[ "$whole" = 1 ] || rm -rf "$work/on"
	if ! { checkout base && commit=base build on "$base_log.log" "${files[@]}" &&
	       run_sparse on "$base_log.sparse.log" "${files[@]}"; }; then
		tail -n 5 "$base_log".*log
		echo 'the base does not build'
		return 1
	fi
	warnings "$base_log.log" >"$base_log.warnings"
	warnings "$base_log.sparse.log" >"$base_log.sparse"
	touch "$base_log.$tools"
}

check_kernel()
{
	local set=$1 files log=$tmp/build.log

	base_kernel || return
	checkout "$commit" || return
	mapfile -t files < <(kernel_files <<<"$touched")
	if ! build "$set" "$log" "${files[@]}"; then
		grep -E -m 20 '(error|undefined reference|Error [0-9])' "$log" || tail -n 20 "$log"
		return 1
	fi
	new_warnings "$log" "$base_log.warnings"
}

check_sparse()
{
	local set files log=$tmp/sparse.log

	base_kernel || return
	checkout "$commit" || return
	mapfile -t files < <(kernel_files <<<"$touched")
	# The commit that adds the option is the first one that builds the files of the feature.
	if grep -qE '\.h$|^init/Kconfig$' < <(printf '%s\n' "${files[@]}"); then
		mapfile -t files < <(kernel_files <<<"$all_touched")
	fi
	for set in "$@"; do
		if ! { kernel_config "$set" && run_sparse "$set" "$log" "${files[@]}"; }; then
			tail -n 20 "$log"
			return 1
		fi
		new_warnings "$log" "$base_log.sparse" || return
	done
}

check_perf()
{
	checkout "$commit" || return
	if ! LINUX=$src PERF=$work/perf "$top/scripts/build.sh" perf >"$tmp/perf.log" 2>&1; then
		grep -E -m 20 '(error|undefined reference|Error [0-9])' "$work/perf/build.log" ||
			cat "$tmp/perf.log"
		return 1
	fi
	! grep -E '[^ ]*:[0-9]+: warning: ' "$work/perf/build.log"
}

check_tests()
{
	local o=$work/selftests log=$tmp/tests.log

	mkdir -p "$o"
	if ! { checkout "$commit" && kernel_config on &&
	       make -s -C "$src" O="$work/on" headers &&
	       make -s -B -C "$src/$dir" OUTPUT="$o" CC="$cc" TEST_GEN_MODS_DIR= \
			KHDR_INCLUDES="-isystem $work/on/usr/include"; } >"$log" 2>&1; then
		tail -n 20 "$log"
		return 1
	fi
	! grep -E 'warning: ' "$log"
}

# --- The table.

failed=0

# cell NAME KEY COMMAND...: run the check unless it has a good result, and set $cell
cell()
{
	local name=$1 key log=$logs/$number-$1.log
	key=$good/$1-$(echo "$2 $whole" | hash_of)
	shift 2
	cell=ok
	[ ! -e "$key" ] || return 0
	if [[ " $columns " != *" $name "* ]]; then
		cell='?'
	elif "$@" >"$log" 2>&1; then
		rm -f "$log"
		touch "$key"
	else
		cell=FAIL
		failed=1
		echo "$number $name" >>"$tmp/failed"
	fi
}

row()
{
	local start=$SECONDS cells=() sets has_option=0
	local message files option

	message=$(lgit log -1 --format=%B "$commit" | hash_of)
	files=$(lgit diff --raw --no-abbrev --no-renames "$from" "$commit" | hash_of)
	if lgit grep -q PERF_EVENTS_PERSISTENT "$commit" -- init/Kconfig; then
		has_option=1
	fi

	if [ $whole = 0 ]; then
		cell am "$files $message $script" check_am
		cells+=("$cell")
		cell style "$files $message $script" check_style
		cells+=("$cell")
	else
		cells+=(- -)
	fi
	cell words "$files $message $script" check_words
	cells+=("$cell")
	cell=-
	! kernel_files <<<"$touched" | grep -q '\.[ch]$' || cell doc "$files $script" check_doc
	cells+=("$cell")
	cell who "$script $(lgit rev-parse "HEAD:MAINTAINERS") $touched" check_who
	cells+=("$cell")

	sets=on
	[ $has_option = 0 ] || sets='on off'
	option=$(kernel_id "$commit")
	if kernel_files <<<"$touched" | grep -q . || [ "$commit" = "$last" ] ||
	   grep -qE "$objtool_trees" <<<"$touched"; then
		cell on "$option $tools $([ "$commit" = "$last" ] && echo last)" check_kernel on
		cells+=("$cell")
		cell='='
		[ $has_option = 0 ] ||
			cell off "$option $tools $([ "$commit" = "$last" ] && echo last)" \
				check_kernel off
		cells+=("$cell")
	else
		cells+=(- -)
	fi
	cell=-
	# shellcheck disable=SC2086 # a list
	! kernel_files <<<"$touched" | grep -q '\.[ch]$' ||
		cell sparse "$option $tools $files" check_sparse $sets
	cells+=("$cell")

	cell=-
	if [ $whole = 0 ] &&
	   { [ "$commit" = "$last" ] || grep -qE "$perf_trees" <<<"$touched"; }; then
		cell perf "$(perf_id "$commit")" check_perf
	fi
	cells+=("$cell")
	cell=-
	if [ $whole = 0 ] && lgit cat-file -e "$commit:$dir/Makefile" 2>/dev/null &&
	   { [ "$commit" = "$last" ] || grep -qE "^($dir|include/uapi)/" <<<"$touched"; }; then
		cell tests "$(lgit rev-parse "$commit:$dir" "$commit:include/uapi")" check_tests
	fi
	cells+=("$cell")

	print_row "$number" "${cells[@]}" $((SECONDS - start)) "$subject"
}

print_row() { printf '%-4s %-4s %-5s %-5s %-4s %-4s %-4s %-4s %-6s %-4s %-5s %5s  %.60s\n' "$@"; }

commit_series base HEAD >"$tmp/commits" || exit
mapfile -t commits < <(cut -d' ' -f1 "$tmp/commits")
mapfile -t in_series < <(cut -d' ' -f2 "$tmp/commits")
[ ${#commits[@]} -gt 0 ] || die 'there are no commits'
last=${commits[-1]}
: >"$tmp/failed"
[ $# -gt 0 ] || set -- "1-${#commits[@]}"

print_row '' am style words doc who on off sparse perf tests s ''
if [ "$whole" = 1 ]; then
	number=all commit=$last from=base touched=$all_touched
	subject="all series, ${#commits[@]} commits"
	row
else
	heading=''
	for range; do
		if ! [[ $range =~ ^[0-9]+(-[0-9]+)?$ ]]; then
			# The range from the first to the last commit of the series
			range=$(grep -n " $range\$" "$tmp/commits" | sed -n 's/:.*//; 1p; $p' | paste -sd-)
			[ -n "$range" ] || die "there is no series like that; they are: $(series_names | xargs)"
		fi
		for number in $(seq "${range%-*}" "${range#*-}"); do
			commit=${commits[number - 1]-}
			[ -n "$commit" ] || die "there is no commit $number"
			if [ "${in_series[number - 1]}" != "$heading" ]; then
				heading=${in_series[number - 1]}
				echo "$heading"
			fi
			from=$commit^
			touched=$(lgit diff --name-only --no-renames "$from" "$commit")
			subject=$(lgit log -1 --format=%s "$commit")
			row
		done
	done
fi

while read -r number name; do
	echo
	echo "--- $number $name: ${logs#"$top"/}/$number-$name.log"
	head -n 10 "$logs/$number-$name.log"
done <"$tmp/failed"
exit $failed
