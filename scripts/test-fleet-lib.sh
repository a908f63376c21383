# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# What test-fleet.sh and its part in the guests have in common, to be sourced.

# shellcheck disable=SC2034 # used by those that source this

# The first one has the broker, and its clock is what those of the others are compared with.
# The trigger of the second one fires.
fleet_hosts=(web1 web2 db)
fleet_fires=web2

# Records are told apart by a number. Machines write them in turn, each when it has seen that
# the one before was written. So their true order is known.
fleet_event=syscalls:sys_enter_kill
number_base=2000000000
last_mark=24
fire_number=99
# How much later a machine writes its number, at least. It has to be more than what is
# unknown of the clocks.
mark_seconds=0.1

# until_true WHAT COMMAND...: tried for two minutes
until_true()
{
	local what=$1 i

	shift
	for ((i = 0; i < 1200; i++)); do
		! "$@" || return 0
		sleep 0.1
	done
	echo "fleet: gave up waiting: $what" >&2
	return 1
}

# address HOST
address()
{
	local i

	for i in "${!fleet_hosts[@]}"; do
		[ "${fleet_hosts[i]}" != "$1" ] || echo "10.0.0.$((i + 1))"
	done
}

# is_turn_of HOST NUMBER
is_turn_of()
{
	[ "${fleet_hosts[$2 % ${#fleet_hosts[@]}]}" = "$1" ]
}
