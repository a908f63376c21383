#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tables of what scripts/bench-scale.sh has measured, and whether it scales.

usage: scale.py DIR
"""
import collections
import sys

# From least to last, the cost of one of what was asked for must not grow by
# more. Looking something up among a thousand takes ten steps instead of one;
# what is linear in what was not asked for is beyond that.
LIMIT = 2.0

# What is added up, and what it is.
ROWS = [
    (('make',), 'open and map ordinary events'),
    (('persist', 'leave'), 'create: the rest'),
    (('names',), 'list the names, each'),
    (('sysfs',), 'id by name, sysfs'),
    (('find',), 'open by name'),
    (('list',), 'list the members'),
    (('open',), 'open a member, by id'),
    (('by-cpu',), 'open the first of a CPU'),
    (('read',), 'open, map, copy 4 KiB'),
    (('each',), 'members off and on, one by one'),
    (('switch',), 'the same, as a namespace'),
    (('delete',), 'delete'),
    (('perf-record-P',), 'perf record -P NAME'),
    (('perf-record',), 'perf record -e persistent/NAME/'),
    (('perf-ctl-l-NAME',), 'perf ctl -l NAME'),
    (('perf-ctl-l',), 'perf ctl -l, all of them'),
    (('perf-ctl-d',), 'perf ctl -d NAME'),
]

# What perf does for any event: shown, not judged. A change to an event of a CPU
# takes all events of that CPU off and puts them on again.
PERFS_OWN = ('make', 'each')

# Words of a line: namespaces, CPUs, events.
AXES = [
    ('namespaces', 0, 'namespaces that exist; 1 CPU, 1 event'),
    ('cpus', 1, 'CPUs; 10 namespaces of 1 event a CPU'),
    ('events', 2, 'events on a CPU, with one buffer; 1 namespace, 1 CPU'),
]


def read(path, axis):
    """Instructions and objects by operation and place on the axis."""
    results = collections.defaultdict(dict)
    with open(path) as f:
        for line in f:
            words = line.split()
            results[words[3]][int(words[axis])] = (float(words[5]), int(words[4]))
    return results


def costs(results, operations):
    """Instructions for one object, along the axis."""
    return [sum(results[op][at][0] for op in operations) / objects
            for at, (_, objects) in sorted(results[operations[0]].items())]


def growth(values):
    """The most by which it rises from one place to a later one."""
    return max(b / max(a, 1) for i, a in enumerate(values) for b in values[i:])


def judge(results, operations, values):
    """What it grows by and what there is to say about that."""
    grown = growth(values)
    if operations[0] in PERFS_OWN:
        return grown, "perf's own"
    if operations[0] == 'switch':
        # Less the opening, so that it is the same for the same events.
        each = costs(results, ('each',))
        open_ns = [cost / results['each'][at][1]
                   for at, (cost, _) in sorted(results['find'].items())]
        more = max((v - o) / e for v, o, e in zip(values, open_ns, each))
        return grown, f"{more:.2f} of perf's own" + (' TOO MUCH' if more > LIMIT else '')
    return grown, 'TOO MUCH' if grown > LIMIT else ''


def table(directory, axis, index, title):
    results = read(f'{directory}/scale.{axis}', index)
    places = sorted(results['make'])
    bad = 0
    print(f'\nInstructions for each, against {title}\n')
    print(f'{"":32}' + ''.join(f'{at:>11}' for at in places) + '   growth')
    for operations, name in ROWS:
        if operations[0] not in results:
            continue
        values = costs(results, operations)
        grown, verdict = judge(results, operations, values)
        bad += verdict.endswith('TOO MUCH')
        print((f'{name:32}' + ''.join(f'{v:11.0f}' for v in values) +
               f'{grown:9.2f}  {verdict}').rstrip())
    return bad


def memory(directory):
    """What a namespace takes, and each of its members."""
    slab = {}
    with open(f'{directory}/scale.memory') as f:
        for line in f:
            namespaces, cpus, _, _, what, _, size = line.split()
            slab[what, int(cpus)] = int(size) / (int(namespaces) - 1)
    (few, many) = sorted({cpus for _, cpus in slab})
    print('\nBytes beside the buffers\n')
    member = (slab['persistent', many] - slab['persistent', few]) / (many - few)
    ns = slab['persistent', few] - few * member
    print(f'{"persistent":32}{member:11.0f} an event and CPU, and {ns:.0f} a namespace')
    print(f'{"open in a process":32}{slab["plain", many] / many:11.0f} an event and CPU')


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    bad = sum(table(sys.argv[1], *axis) for axis in AXES)
    memory(sys.argv[1])
    print(f'\n{bad} of the rows grow by more than {LIMIT:g}.')
    return int(bad > 0)


if __name__ == '__main__':
    sys.exit(main())
