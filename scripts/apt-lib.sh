# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For scripts that fetch packages of another release or architecture of Debian than the
# system's.

# apt_private DIR SUITE [ARCH]: write DIR/apt.conf, with which apt-get -c works with lists,
# state and cache below DIR, an absolute path, so that those of the system do not change.
# Only the mirror is taken from there. Returns 1 on failure, and says why on stderr.
apt_private()
{
	local dir=$1 suite=$2 arch=${3:-$(dpkg --print-architecture)} mirror
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg

	# shellcheck disable=SC2016 # apt-get puts it in
	mirror=$(apt-get indextargets --format '$(SITE)' \
		'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | head -n 1)
	if [ -z "$mirror" ]; then
		echo "there is no mirror of Debian in apt's lists; 'apt-get update' makes them" >&2
		return 1
	fi
	if [ ! -e "$keyring" ]; then
		echo "there is no $keyring; it is in debian-archive-keyring" >&2
		return 1
	fi
	rm -rf "$dir"
	mkdir -p "$dir"/{lists,cache/archives}/partial "$dir/none" || return 1
	touch "$dir/status" || return 1
	echo "deb [signed-by=$keyring] $mirror $suite main" >"$dir/sources.list" ||
		return 1
	# apt's own user may not be able to enter DIR, so apt must not switch to it.
	cat >"$dir/apt.conf" <<-END || return 1
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Dir::Etc::SourceList "$dir/sources.list";
		Dir::Etc::SourceParts "$dir/none";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "$dir/none";
		Dir::State "$dir";
		Dir::State::Lists "$dir/lists";
		Dir::State::Status "$dir/status";
		Dir::Cache "$dir/cache";
	END
}
