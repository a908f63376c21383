# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Common parts of test-fleet.sh and test-fleet-guest.sh, which source this.

# shellcheck disable=SC2034 # used by those that source this

# The first machine has the broker, and the clocks of the others are compared with its
# clock. The trigger of the second machine fires.
fleet_hosts=(web1 web2 db)
fleet_fires=web2

# Each record has a number. The machines write them in turn, each after it has seen that
# the number before is written. So their true order is known.
fleet_event=syscalls:sys_enter_kill
number_base=2000000000
last_mark=24
fire_number=99
# The least time between two numbers. It must be longer than the error of the clocks.
mark_seconds=0.1

# until_true WHAT COMMAND...: try COMMAND for two minutes, until it succeeds
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

# address HOST: print its IP address
address()
{
	local i

	for i in "${!fleet_hosts[@]}"; do
		[ "${fleet_hosts[i]}" != "$1" ] || echo "10.0.0.$((i + 1))"
	done
}

# is_turn_of HOST NUMBER: true if HOST must write NUMBER
is_turn_of()
{
	[ "${fleet_hosts[$2 % ${#fleet_hosts[@]}]}" = "$1" ]
}
