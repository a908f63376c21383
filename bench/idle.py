#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Table of what scripts/bench-idle.sh has counted.

usage: idle.py FILE SECONDS

Fails when a namespace has a task, a work item or irq_work.
"""
import collections
import re
import sys

CONFIGS = [('none', 'nothing'), ('persistent', 'persistent namespace'),
           ('overwrite', 'perf record --overwrite'), ('daemon', 'perf daemon')]

# Of work items, those of perf; the rest of the kernel has its own all the time.
OURS = re.compile('perf')


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tasks = collections.defaultdict(list)
    counts = collections.defaultdict(int)
    seen = set()
    with open(sys.argv[1]) as f:
        for line in f:
            config, kind, name, *numbers = line.split()
            seen.add(config)
            if kind == 'task':
                tasks[config].append((name, *map(int, numbers)))
            elif kind == 'count':
                counts[config, name] = int(numbers[0])
            elif OURS.search(name):
                counts[config, 'work'] += int(numbers[0])

    print(f'While {sys.argv[2]} s go by on a loaded system, 10 events, 4 CPUs\n')
    print(f'{"":26}{"":>8}{"wake-":>9}{"context":>10}{"CPU":>9}{"work":>8}{"irq_work":>10}'
          f'{"all of the":>12}\n'
          f'{"":26}{"tasks":>8}{"ups":>9}{"switches":>10}{"ms":>9}{"items":>8}'
          f'{"":>10}{"switches":>12}')
    for config, name in CONFIGS:
        if config not in seen:
            continue
        sums = [sum(values) for values in zip(*(t[1:] for t in tasks[config]))] or [0] * 4
        print(f'{name:26}{sums[0]:8}{sums[1]:9}{sums[2]:10}{sums[3] / 1e6:9.1f}'
              f'{counts[config, "work"]:8}{counts[config, "wakeup"]:10}'
              f'{counts[config, "switches"]:12}')

    bad = [what for what, number in (
        ('tasks', len(tasks['persistent'])),
        ('work items', counts['persistent', 'work']),
        ('irq_work', counts['persistent', 'wakeup'])) if number]
    if not counts['persistent', 'bytes']:
        bad.append('nothing recorded')
    print(f'\nThe namespace wrote {counts["persistent", "bytes"] / 1e6:.0f} MB: '
          f'{", ".join(bad) or "no task, no work item, no irq_work"}.')
    return int(bool(bad))


if __name__ == '__main__':
    sys.exit(main())
