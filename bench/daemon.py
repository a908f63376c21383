#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What daemon.sh left in a directory, as tables.

usage: daemon.py PERF DIRECTORY

Each writer has numbered its records. In a file, what is missing between the oldest and the newest
of a writer was lost; it is counted once, whatever the number of files that lack it. Held up is who
is recorded: by how much the longest time between two of its records is more than the usual one.
"""
import re
import statistics
import subprocess
import sys
from pathlib import Path

LINE = re.compile(r'^\s*(\d+)\s+(\d+)\.(\d+):\s+NR \d+ \(([0-9a-f]+),')
DAY = 86400 * 1000


def records(perf, path):
    """(time, number) of each writer's records in a file, by pid, in nanoseconds."""
    out = subprocess.run([perf, 'script', '--ns', '-i', path, '-F', 'pid,time,trace'],
                         check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = {}
    for line in out.stdout.splitlines():
        match = LINE.match(line)
        if not match:
            sys.exit(f'{path}: {line}')
        pid, sec, nsec, number = match.groups()
        found.setdefault(int(pid), []).append((int(sec) * 10**9 + int(nsec), int(number, 16)))
    return found


def measure(perf, directory, mode):
    paths = sorted(Path(directory).glob(mode + '.*'), key=lambda path: int(path.suffix[1:]))
    held, apart, lost, pauses, longest, newest, dumps = [], [], {}, {}, 0, {}, 0
    for path in paths:
        found = records(perf, path)
        held.append(sum(map(len, found.values())))
        # Does it reach back to the one before? If not, what that one lost is not known.
        dumps += bool(newest) and all(seen[0][0] <= newest.get(pid, 0) for pid, seen in found.items())
        for pid, seen in found.items():
            newest[pid] = seen[-1][0]
            for (time, number), (later, following) in zip(seen, seen[1:]):
                apart.append(later - time)
                if following == number + 1:
                    longest = max(longest, later - time)
                else:
                    lost[pid, number] = following - number - 1
                    pauses[pid, number] = later - time
    return {'dumps': dumps, 'held': statistics.mean(held), 'lost': sum(lost.values()),
            'pause': max(pauses.values(), default=0),
            'longest': longest - statistics.median(apart)}


def print_dumps(perf, directory):
    modes = {'none': 'nobody asks', 'live': 'unnamed namespace', 'pause': 'overwrite buffers'}
    print(f'{"":20}{"dumps":>8}{"records":>10}{"lost in":>10}{"longest":>12}{"held up":>12}')
    print(f'{"":20}{"":8}{"in a file":>10}{"a dump":>10}{"pause, us":>12}{"for, us":>12}')
    for mode, name in modes.items():
        row = measure(perf, directory, mode)
        if mode != 'none' and not row['dumps']:
            sys.exit(f'{name}: memory holds less than the time between two dumps')
        lost = row['lost'] / max(row['dumps'], 1)
        print(f'{name:20}{row["dumps"]:8}{row["held"]:10.0f}{lost:10.1f}'
              f'{row["pause"] / 1000:12.1f}{row["longest"] / 1000:12.1f}')


def print_day(directory):
    """What a day of 1,000 tasks a second takes, if each is like those that were run."""
    seen = {'trim': []}
    for line in (Path(directory) / 'tasks').read_text().splitlines():
        key, *values = line.split()
        seen.setdefault(key, []).append([float(value) for value in values])
    tasks = seen['tasks'][0][0]
    before, left, peak = seen['size'][0][0], 0, 0
    written = again = 0
    for size, kept in seen['trim']:
        written += size - before
        again += kept
        peak = max(peak, size + kept)
        before = left = kept
    written += seen['size'][1][0] - before
    cpu = seen['cpu'][0][0]
    print(f'\nA day of 1,000 short tasks a second, from {tasks:.0f} of them:')
    print(f'  what is known of a task     {written / tasks:10.0f} bytes')
    print(f'  written in a day            {written / tasks * DAY / 1e9:10.0f} GB, '
          f'and {again / tasks * DAY / 1e9:.0f} GB again, {len(seen["trim"])} times here')
    print(f'  left after the last time    {left / 1e6:10.1f} MB, at most {peak / 1e6:.1f} MB at a time')
    print(f'  CPU time for a task         {cpu / tasks / 1000:10.1f} us, '
          f'{cpu / tasks / 1e6:.1%} of a CPU')


def main():
    perf, directory = sys.argv[1:]
    print_dumps(perf, directory)
    print_day(directory)


main()
