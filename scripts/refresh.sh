#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Write the commits of build/linux back to patches/ and the new files.
#
# usage: refresh.sh [-n | -f]
#
#   -n  write nothing, fail if there is something to write
#   -f  also if the series changed since build/linux was made from it
#
# Edits that are not committed go into the last commit that touches the file.

set -euo pipefail
. "$(dirname "$0")/series-lib.sh"

force=0 dry=0
case ${1-} in
-f) force=1 ;;
-n) dry=1 ;;
esac

[ -e "$linux/.git" ] || die "there is no ${linux#"$top"/}; 'make source' makes it"
exec 9>"$base_build/.source.lock"
flock 9

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

series_root "$tmp"
load_state
if [ $force = 0 ] && [ -n "$saved_hash" ] && [ "$saved_hash" != "$(series_hash)" ]; then
	die "patches/ or the new files changed since ${linux#"$top"/} was made from" \
		"them and would be overwritten; with -f they are"
fi
base=$(lgit rev-parse --verify 'base^{commit}')
head=$(lgit rev-parse HEAD)
lgit merge-base --is-ancestor "$base" "$head" || die "HEAD does not descend from base"
if [ -e "$(git_path rebase-merge)" ] || [ -e "$(git_path rebase-apply)" ]; then
	die "a rebase is under way in ${linux#"$top"/}; end it first"
fi
if [ -n "$(lgit rev-list --merges "$base..$head")" ]; then
	die "a merge among the commits; the series must be linear"
fi
if lgit log --format=%s "$base..$head" | grep -E '^(fixup|squash|amend)!'; then
	die "fold these first: git -C ${linux#"$top"/} rebase -i --autosquash base"
fi

# --- Edits that are not committed.

by_hand="commit it by hand: git add; git commit -s"
untracked=$(lgit ls-files --others --exclude-standard | head -n 5)
[ -z "$untracked" ] || die "not in any commit, $by_hand:" $'\n'"$untracked"

lgit diff --name-only --no-renames HEAD >"$tmp/edited"
if [ -s "$tmp/edited" ]; then
	while read -r file; do
		commit=$(lgit log -1 --format=%H --no-renames "$base..$head" -- "$file")
		[ -n "$commit" ] ||
			die "no commit of the series touches $file, so none can take the edit; $by_hand"
		echo "$commit $file"
	done <"$tmp/edited" >"$tmp/targets"

	# No later commit touches these files, so nothing can conflict: each
	# commit from the target on gets the file as it is now.
	lgit diff --raw --no-renames --no-abbrev HEAD |
		awk -F'[ \t]' '{ print $6, $2 }' >"$tmp/modes"
	new=$base
	: >"$tmp/folded"
	for commit in $(lgit rev-list --reverse "$base..$head"); do
		sed -n "s/^$commit //p" "$tmp/targets" >>"$tmp/folded"
		export GIT_INDEX_FILE=$tmp/index
		lgit read-tree "$commit"
		while read -r file; do
			mode=$(awk -v f="$file" '$1 == f { print $2 }' "$tmp/modes")
			if [ "$mode" = 000000 ]; then
				printf '0 %040d\t%s\n' 0 "$file"
			else
				printf '%s %s\t%s\n' "$mode" \
					"$(lgit hash-object -w --no-filters "$linux/$file")" "$file"
			fi
		done <"$tmp/folded" | lgit update-index --index-info
		tree=$(lgit write-tree)
		unset GIT_INDEX_FILE
		new=$(lgit cat-file commit "$commit" | sed '1,/^$/d' |
			GIT_AUTHOR_NAME=$(lgit log -1 --format=%an "$commit") \
			GIT_AUTHOR_EMAIL=$(lgit log -1 --format=%ae "$commit") \
			GIT_AUTHOR_DATE=$(lgit log -1 --format=%ad --date=raw "$commit") \
			git -C "$linux" commit-tree "$tree" -p "$new")
	done
	while read -r commit file; do
		echo "refresh: $file goes into \"$(lgit log -1 --format=%s "$commit")\""
	done <"$tmp/targets"
	head=$new
fi

# --- Export to a directory of its own; nothing of the repository is touched
# until all of it is known to be good.

out=$tmp/out
mkdir -p "$out/patches"
cp "$layout" "$out/patches/layout"
commit_series "$base" "$head" >"$tmp/commit-series" || exit
lgit ls-tree -r --name-only "$base" >"$tmp/base-files"
: >"$tmp/new-files"
folder='' n=0 total=0
while read -r commit in_folder <&3; do
	if [ "$in_folder" != "$folder" ]; then
		folder=$in_folder n=0
		mkdir -p "$out/patches/$folder"
		cat >"$out/patches/$folder/series" <<-END
			# SPDX-License-Identifier: GPL-2.0
			# One line for each commit: its patch, and the new files that it brings.
			# Written by 'make refresh'.
		END
	fi
	n=$((n + 1)) total=$((total + 1))
	subject=$(lgit log -1 --format=%s "$commit")
	name=$(lgit log -1 --format=%f "$commit" | cut -c1-52)
	name=$(printf '%04d-%s.patch' $n "${name%%[-.]}")

	lgit diff-tree -r --name-only --no-renames "$commit^" "$commit" >"$tmp/touched"
	# Both are sorted by git.
	LC_ALL=C comm -13 "$tmp/base-files" "$tmp/touched" >"$tmp/new"
	# What an earlier commit brought grows by the patch.
	grep -vxFf "$tmp/new-files" "$tmp/new" >"$tmp/newer" || :
	mv "$tmp/newer" "$tmp/new"
	cat "$tmp/new" >>"$tmp/new-files"
	while read -r file; do
		mode=$(lgit ls-tree "$head" -- "$file" | cut -d' ' -f1)
		mkdir -p "$out/$(dirname "$file")"
		lgit cat-file blob "$head:$file" >"$out/$file" ||
			die "$file of \"$subject\" does not stay"
		case $mode in
		100644) ;;
		100755) chmod +x "$out/$file" ;;
		*) die "$file of \"$subject\" is neither a file nor a program" ;;
		esac
	done <"$tmp/new"

	# Without what would change with every refresh or base: the commit id
	# and the index lines.
	{
		lgit -c format.subjectPrefix=PATCH -c i18n.logOutputEncoding=UTF-8 \
			show -s --format=email --no-color --no-notes --no-mailmap \
			--no-show-signature "$commit" |
			sed '1s/^From [0-9a-f]*/From 0000000000000000000000000000000000000000/'
		echo ---
		grep -vxFf "$tmp/new" "$tmp/touched" >"$tmp/changed" || :
		if [ -s "$tmp/changed" ]; then
			echo
			xargs -d '\n' -a "$tmp/changed" git -C "$linux" diff-tree -p -U3 \
				--no-renames --no-color --no-ext-diff --no-textconv \
				--diff-algorithm=myers --src-prefix=a/ --dst-prefix=b/ \
				"$commit^" "$commit" -- | sed '/^index [0-9a-f]*\.\./d'
		fi
	} >"$out/patches/$folder/$name"
	if grep -q '^Binary files' "$out/patches/$folder/$name"; then
		die "\"$subject\" changes a binary file"
	fi
	echo "$name $(tr '\n' ' ' <"$tmp/new")" | sed 's/ *$//' \
		>>"$out/patches/$folder/series"
done 3<"$tmp/commit-series"

# What the base has now.
if [ -z "$base_name" ]; then
	for file in "$top"/patches/*/series; do
		[ -e "$file" ] || continue
		file=${file#"$top"/}
		echo "$file"
		series_lines "$top/$file" | sed "s|^|${file%/*}/|"
	done | tr -s ' ' '\n' | sort -u
else
	(cd "$base_dir" && find . -type f -not -path ./BASE -not -path ./config \
		-not -name cover-letter) | sed 's|^\./||'
fi >"$tmp/old-names"
# A new file must not land on a file that is this repository's own.
while read -r file; do
	if [ -z "$base_name" ] && [ -e "$top/$file" ] && ! grep -qxF "$file" "$tmp/old-names" &&
	   ! cmp -s "$top/$file" "$out/$file"; then
		die "the new file $file would overwrite one of this repository"
	fi
done <"$tmp/new-files"

# --- The export must give the very same history.

# replays ROOT: does what ROOT has give these commits? Sets new.
replays()
{
	new=$(replay "$1" "$tmp") && lgit diff-tree --quiet "$head" "$new" &&
		[ "$(lgit log --format=%an%ae%at%T%B "$base..$head")" = \
		  "$(lgit log --format=%an%ae%at%T%B "$base..$new")" ]
}

replays "$out" || die "the exported patches do not give the commits they were made from"

# --- Of what another base shares with the usual one, nothing is written.

# is_same FILE SHARED: a patch may be at other lines
is_same()
{
	case $1 in
	*.patch) cmp -s <(sed 's/^@@ -[^@]*@@.*/@@/' "$1") <(sed 's/^@@ -[^@]*@@.*/@@/' "$2") ;;
	*) cmp -s "$1" "$2" && [ "$(stat -c %a "$1")" = "$(stat -c %a "$2")" ] ;;
	esac
}

if [ -n "$base_name" ]; then
	rm -rf "$tmp/own"
	cp -a "$out" "$tmp/own"
	(cd "$out" && find . -type f) | sed 's|^\./||' | while read -r file; do
		shared=$(base_dir=/nonexistent of_base "$file")
		if [ "$file" != patches/layout ] && [ -e "$shared" ] && is_same "$out/$file" "$shared"; then
			rm "$tmp/own/$file"
		fi
	done
	if ! merge_root "$tmp/own" "$tmp/merged" || ! replays "$tmp/merged"; then
		die "what is shared with the usual base does not give these commits"
	fi
	out=$tmp/own
fi

if [ $dry = 1 ]; then
	diff -ru -x cover-letter "$base_dir/patches" "$out/patches" >"$tmp/diff" || :
	while read -r file; do
		[ -e "$out/$file" ] || [ -e "$base_dir/$file" ] || [ -z "$base_name" ] || continue
		diff -u "$base_dir/$file" "$out/$file" || :
		[ "$(stat -c %a "$base_dir/$file")" = "$(stat -c %a "$out/$file")" ] ||
			echo "mode of $file"
	done <"$tmp/new-files" >>"$tmp/diff" 2>&1
	[ -s "$tmp/diff" ] || exit 0
	head -n 40 "$tmp/diff"
	die "the series is not what is in ${linux#"$top"/}"
fi

# --- Install; a file that is the same keeps its time.

put()
{
	local want have

	want=$(stat -c %a "$1")
	have=$(stat -c %a "$2" 2>/dev/null || :)
	if ! cmp -s "$1" "$2"; then
		mkdir -p "$(dirname "$2")"
		cp "$1" "$2"
	fi
	[ "$want" = "$have" ] || chmod "$want" "$2"
}

while read -r file; do
	[ ! -e "$out/$file" ] || put "$out/$file" "$base_dir/$file"
done <"$tmp/new-files"
for file in "$out"/patches/*/*; do
	[ ! -f "$file" ] || put "$file" "$base_dir/${file#"$out"/}"
done
# What the old series name and the new ones do not.
while read -r file; do
	case $file in
	patches/*)
		if [ ! -e "$out/$file" ]; then
			rm -f "$base_dir/$file"
			rmdir --ignore-fail-on-non-empty "$base_dir/$(dirname "$file")"
		fi
		;;
	*)
		if [ ! -e "$out/$file" ]; then
			rm -f "$base_dir/$file"
			(cd "$base_dir" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$file")")
		fi
		;;
	esac
done <"$tmp/old-names"

# The same content in the commits that a replay makes.
lgit update-ref -m refresh HEAD "$new"
lgit reset -q
lgit update-index --skip-worktree .gitignore
series_root "$tmp"
save_state
echo "refresh: $total commits, $(wc -l <"$tmp/new-files") new files"
if [ -n "$base_name" ]; then
	echo "refresh: base $base_name has $(find "$base_dir/patches" -name '*.patch' | wc -l)" \
		"patches and $(find "$base_dir" -type f -not -path "$base_dir/patches/*" \
		-not -path "$base_dir/BASE" -not -path "$base_dir/config" | wc -l) new files of its own"
fi
