#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Show how much code the series add to the kernel of the benchmark, and check that the
# templates of tracepoints (perf_trace_*(), one for each event class) have not grown.
#
# usage: check-size.sh [VMLINUX...]
#
#   VMLINUX  only print the sizes of these files
#
# Builds four kernels: the base, the series up to 2-cost, and all series without and with
# CONFIG_PERF_EVENTS_PERSISTENT. Kernels of the benchmark are reused.

set -euo pipefail

. "$(dirname "$0")/series-lib.sh"

[ -z "$base_name" ] || die "only the usual base has kernels for this"
export LC_ALL=C
build=$top/build
configs="$top/configs/vm.config $top/configs/bench.config"
off=$build/size-off.config

# functions VMLINUX: type, name and size of each function
functions()
{
	nm -S --defined-only "$1" | awk '
		function value(hex,   i, n) {
			for (i = 1; i <= length(hex); i++)
				n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		NF == 4 && $3 ~ /^[tTwW]$/ { print $3, $4, value($2) }'
}

# templates VMLINUX: name and size of each template. Other functions with this prefix are
# helpers.
templates()
{
	functions "$1" | awk '$1 == "t" && $2 ~ /^perf_trace_/ { print $2, $3 }' |
		grep -vE '^perf_trace_(begin_any|end_task|event_(init|reg|unreg|open|close|perm))[. ]'
}

# text VMLINUX: the size of all functions. The section is rounded up to whole pages.
text()
{
	functions "$1" | awk '{ sum += $3 } END { print sum + 0 }'
}

# sum VMLINUX [NAME]: the bytes of all templates, or of one
sum()
{
	templates "$1" | awk -v name="${2-}" '
		{ sub(/\..*/, "", $1) }
		name == "" || $1 == name { sum += $2 }
		END { print sum + 0 }'
}

header()
{
	printf '%-24s %10s %10s %7s %10s %13s\n' '' functions templates number sys_enter sched_switch
}

row()
{
	printf '%-24s %10d %10d %7d %10d %13d\n' "$1" "$(text "$2")" "$(sum "$2")" \
		"$(templates "$2" | wc -l)" "$(sum "$2" perf_trace_sys_enter)" \
		"$(sum "$2" perf_trace_sched_switch)"
}

if [ $# -gt 0 ]; then
	header
	for vmlinux; do
		row "$(basename "$(dirname "$vmlinux")")" "$vmlinux"
	done
	exit
fi

# tree NAME COMMIT: check COMMIT out into build/NAME
tree()
{
	if [ ! -e "$build/$1/Makefile" ]; then
		lgit worktree prune
		lgit worktree add -f -q --detach "$build/$1" "$2"
	fi
	git -C "$build/$1" checkout -q --detach "$2"
}

# build_kernel TREE NAME CONFIGS
build_kernel()
{
	LINUX=$1 KERNEL=$build/$2 CONFIGS=$3 "$top/scripts/build.sh" kernel >&2
}

cost=$(commit_series base HEAD | awk '$2 == "2-cost" { print $1 }' | tail -n 1)
printf '%s\n' '# CONFIG_PERF_EVENTS_PERSISTENT is not set' \
	'# CONFIG_PROC_PERF_BUFFERS is not set' \
	'# CONFIG_SAMPLE_PERF_PERSISTENT is not set' >"$off"
tree linux-base base
tree linux-2-cost "$cost"
build_kernel "$build/linux-base" kernel-bench-base "$configs"
build_kernel "$build/linux-2-cost" kernel-size-2-cost "$configs"
build_kernel "$linux" kernel-size-off "$configs $off"
build_kernel "$linux" kernel-bench "$configs"

header
row 'the base' "$build/kernel-bench-base/vmlinux"
row 'up to 2-cost' "$build/kernel-size-2-cost/vmlinux"
row 'all, the option off' "$build/kernel-size-off/vmlinux"
row 'all, the option on' "$build/kernel-bench/vmlinux"

before=$build/size-before after=$build/size-after status=0
templates "$build/kernel-bench-base/vmlinux" | sed 's/\.[^ ]*//' | sort >"$before"
for kernel in kernel-size-2-cost kernel-size-off kernel-bench; do
	templates "$build/$kernel/vmlinux" | sed 's/\.[^ ]*//' | sort >"$after"
	[ "$(wc -l <"$after")" -ge 100 ] || die "there are hardly any templates in $kernel"
	if join "$before" "$after" | awk '$3 > $2' | grep . >&2; then
		echo "check-size: these templates are larger in $kernel" >&2
		status=1
	fi
done
exit $status
