# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the scripts that turn the series into commits and back.
#
# Each folder of patches/ is a series. Its file "series" has a line for each commit,
# with its patch in that folder and the new files it brings, which stand whole in
# this repository at their kernel path. They stand there as they are in the end: a
# later commit that changes one has the change in its patch, and what the file was
# before is found by taking that back.
#
# build/linux has the commits of all series in one line. patches/layout says in which
# order, and the subject of the commit that each series begins with.
#
# All of that is of the usual base. The folder of another one in bases/ has what differs
# there, under the same names: patches (whatever their number is), new files, series and
# layout. What it does not have is shared, see series_root().
#
# BASE: the base, see base-lib.sh.
# LINUX: the git tree to work on (build/linux, or build/BASE/linux).

top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
# shellcheck source=scripts/base-lib.sh
. "$top/scripts/base-lib.sh"
linux=$(realpath -m "${LINUX:-$base_build/linux}")
layout=$base_dir/patches/layout

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

lgit()
{
	git -C "$linux" "$@"
}

# The lines of a series file without comments.
series_lines()
{
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"
}

# The names of the series, in their order. They are the folders of patches/.
series_names()
{
	series_lines "$layout" | awk '{ print $1 }'
}

# of_base FILE: where the base has it, or that it has it from the usual one. A patch is the
# same whatever its number is.
of_base()
{
	local file=$base_dir/$1 same

	if [ ! -e "$file" ]; then
		file=$top/$1
		if [[ $1 =~ ^(patches/[^/]+)/[0-9]{4}-(.*\.patch)$ ]]; then
			for same in "$top/${BASH_REMATCH[1]}"/[0-9][0-9][0-9][0-9]-"${BASH_REMATCH[2]}"; do
				file=$same
			done
		fi
	fi
	echo "$file"
}

# merge_root DIR ROOT: put into ROOT what the base has in DIR, and what it shares
merge_root()
{
	local base_dir=$1 root=$2 name patch files file

	rm -rf "$root"
	mkdir -p "$root/patches"
	cp "$base_dir/patches/layout" "$root/patches/layout"
	for name in $(series_lines "$root/patches/layout" | awk '{ print $1 }'); do
		mkdir -p "$root/patches/$name"
		for file in series cover-letter; do
			cp -p "$(of_base "patches/$name/$file")" "$root/patches/$name/" || return
		done
		series_lines "$root/patches/$name/series" >"$root/lines"
		while read -r patch files; do
			cp -p "$(of_base "patches/$name/$patch")" "$root/patches/$name/$patch" ||
				return
			for file in $files; do
				mkdir -p "$root/$(dirname "$file")"
				cp -p "$(of_base "$file")" "$root/$file" || return
			done
		done <"$root/lines"
	done
	rm -f "$root/lines"
}

# series_root TMP: sets root to where the patches and the new files of the base are. For
# another base than the usual one they are put together in TMP.
series_root()
{
	root=$top
	if [ -n "$base_name" ]; then
		root=$1/root
		merge_root "$base_dir" "$root" || die "the series of base $base_name are not complete"
	fi
}

# all_lines ROOT: the lines of all series in ROOT, with the folder before the patch
all_lines()
{
	local name

	for name in $(series_names); do
		[ ! -e "$1/patches/$name/series" ] ||
			series_lines "$1/patches/$name/series" | sed "s|^|$name/|"
	done
}

# commit_series FROM TO: a line for each of these commits with its id and its series.
# A series ends where the next one of patches/layout begins.
commit_series()
{
	lgit log --reverse --format='%H %s' "$1..$2" | awk -v layout=patches/layout '
		NR == FNR {
			if (!NF || /^#/)
				next
			name = $1
			sub(/^[[:space:]]*[^[:space:]]+[[:space:]]*/, "")
			sub(/[[:space:]]+$/, "")
			names[++n] = name
			first[n] = $0
			next
		}
		FNR == 1 {
			now = 1
			if (first[1] != "")
				fail(names[1] " begins with the first commit, so it has no subject")
		}
		{
			commit = $1
			sub(/^[^ ]+ /, "")
			for (i = 2; i <= n; i++) {
				if ($0 != first[i])
					continue
				if (i <= now)
					fail("\"" $0 "\" is there twice, or too late: " names[i] " begins with it")
				if (i > now + 1)
					missing(" before \"" first[i] "\"")
				now = i
			}
			print commit, names[now]
		}
		function fail(text) {
			print layout ": " text >"/dev/stderr"
			failed = 1
			exit 1
		}
		END {
			if (!failed && FNR && now < n)
				missing("")
		}
		function missing(where) {
			fail("there is no commit \"" first[now + 1] "\"" where ", but " \
				names[now + 1] " begins with it")
		}' "$layout" -
}

# series_ranges: a line for each series with its name, what it is on top of, and its end
series_ranges()
{
	local from commit name end last=

	from=$(lgit rev-parse --verify 'base^{commit}')
	commit_series "$from" HEAD >"$tmp/commit-series" || return
	while read -r commit name; do
		if [ "$name" != "$last" ]; then
			[ -z "$last" ] || echo "$last $from $end"
			[ -z "$last" ] || from=$end
			last=$name
		fi
		end=$commit
	done <"$tmp/commit-series"
	[ -z "$last" ] || echo "$last $from $end"
}

# Names what all series in $root consist of right now.
series_hash()
{
	local patch files file

	all_lines "$root" | while read -r patch files; do
		echo "$patch $files"
		sha256sum <"$root/patches/$patch"
		for file in $files; do
			[ ! -x "$root/$file" ] || echo executable
			sha256sum <"$root/$file"
		done
	done | sha256sum | cut -d' ' -f1
}

git_path()
{
	lgit rev-parse --path-format=absolute --git-path "$1"
}

# What build/linux and the series were when they last agreed. Kept in the git
# directory, so that a worktree has its own.
state_file()
{
	git_path series-state
}

save_state()
{
	echo "$(series_hash) $(lgit rev-parse HEAD)" >"$(state_file)"
}

# Sets saved_hash and saved_head, empty when there never was an agreement.
# shellcheck disable=SC2034 # the two are for those who source this
load_state()
{
	saved_hash='' saved_head=''
	if [ -e "$(state_file)" ]; then
		read -r saved_hash saved_head <"$(state_file)"
	fi
}

# first_versions ROOT TMP: in TMP/first, what new files that later patches change
# were when they came. TMP/lines are the lines of all series.
first_versions()
{
	local root=$1 tmp=$2 patch files file
	local -a include

	rm -rf "$tmp/first"
	mkdir -p "$tmp/first"
	sed 's/^[^ ]* *//' "$tmp/lines" | tr -s ' ' '\n' | sed '/^$/d' | sort >"$tmp/all-new"
	tac "$tmp/lines" | while read -r patch files; do
		include=()
		while read -r file; do
			if [ ! -e "$tmp/first/$file" ]; then
				mkdir -p "$tmp/first/${file%/*}"
				cp "$root/$file" "$tmp/first/$file"
			fi
			include+=("--include=$file")
		done < <(sed -n 's/^+++ b\///p' "$root/patches/$patch" | sort | comm -12 "$tmp/all-new" -)
		[ ${#include[@]} -gt 0 ] || continue
		(cd "$tmp/first" && GIT_DIR=/nowhere git apply -R --whitespace=nowarn \
			"${include[@]}" "$root/patches/$patch") ||
			die "patches/$patch is not what made ${include[*]#*=} what they are"
	done || exit
}

# The files that a patch is about; most of them twice.
touched_by_patch()
{
	sed -n -e 's/^+++ b\///p' -e 's/^--- a\///p'
}

# replay ROOT TMP: the commit id of all series in ROOT on top of base. Works in an index of
# its own: the files in build/linux, and the times that make looks at, stay as they are.
# That index has only the files that the series touch. git reads and writes all of an index
# for each patch, so with all files of the kernel this would take minutes.
# The committer is the author, so that the same series give the same id.
replay()
{
	local root=$1 tmp=$2 patch files file mode version author ref=refs/replay/$$
	local -a changed

	all_lines "$root" >"$tmp/lines"
	first_versions "$root" "$tmp" || exit
	(cd "$root/patches" && cut -d ' ' -f 1 "$tmp/lines" | xargs cat | touched_by_patch) |
		sort -u - "$tmp/all-new" >"$tmp/all-touched"
	export GIT_INDEX_FILE=$tmp/index
	rm -f "$GIT_INDEX_FILE"
	xargs -d '\n' -a "$tmp/all-touched" git -C "$linux" ls-tree base -- |
		lgit update-index --index-info

	echo "reset $ref" >"$tmp/import"
	echo "from $(lgit rev-parse --verify 'base^{commit}')" >>"$tmp/import"
	while read -r patch files <&3; do
		git mailinfo -b --no-scissors "$tmp/body" "$tmp/diff" \
			<"$root/patches/$patch" >"$tmp/info" ||
			die "cannot read patches/$patch"
		# A commit that brings only new files has an empty patch.
		if grep -q '^diff ' "$tmp/diff" &&
		   ! lgit apply --cached --whitespace=nowarn "$tmp/diff"; then
			die "patches/$patch does not apply to $(lgit log -1 --format=%s base)"
		fi
		# shellcheck disable=SC2086 # a list
		if [ -n "$files" ]; then
			file=$(lgit ls-files -- $files)
			[ -z "$file" ] || die "new files of $patch exist already: $file"
		fi
		for file in $files; do
			[ -f "$root/$file" ] || die "$file of $patch is missing"
			mode=100644
			[ ! -x "$root/$file" ] || mode=100755
			version=$root/$file
			[ ! -e "$tmp/first/$file" ] || version=$tmp/first/$file
			printf '%s %s\t%s\n' $mode \
				"$(lgit hash-object -w --no-filters "$version")" "$file"
		done | lgit update-index --index-info || exit

		{
			sed -n 's/^Subject: //p' "$tmp/info"
			echo
			cat "$tmp/body"
		} | git stripspace >"$tmp/message"
		author="$(sed -n 's/^Author: //p' "$tmp/info")"
		author+=" <$(sed -n 's/^Email: //p' "$tmp/info")> $(sed -n 's/^Date: //p' "$tmp/info")"
		mapfile -t changed < <(touched_by_patch <"$tmp/diff" && xargs -r -n1 <<<"$files")
		echo "commit $ref"
		echo "author $author"
		echo "committer $author"
		echo "data $(wc -c <"$tmp/message")"
		cat "$tmp/message"
		if [ ${#changed[@]} -gt 0 ]; then
			printf 'D %s\n' "${changed[@]}"
			lgit ls-files -s -- "${changed[@]}" |
				sed -E 's/^([0-7]+) ([0-9a-f]+) 0\t/M \1 \2 /'
		fi
	done 3<"$tmp/lines" >>"$tmp/import"
	unset GIT_INDEX_FILE
	lgit fast-import --quiet --force --date-format=rfc2822 <"$tmp/import" || exit
	lgit rev-parse "$ref"
	lgit update-ref -d "$ref"
}

# exported NAME...: the patches that export.sh has made of these series, without the
# cover letters
exported()
{
	local name

	for name; do
		find "$base_build/series/$name" -name '*.patch' -not -name '*0000-cover-letter.patch' | sort
	done
}
