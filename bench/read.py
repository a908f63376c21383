#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Table of what scripts/bench-read.sh has measured.

usage: read.py FILE
"""
import collections
import statistics
import sys

READERS = [('memory', 'memcpy()'),
           ('namespace', 'namespace: open, map, memcpy()'),
           ('ftrace', 'trace_pipe_raw, read()'),
           ('perf-ctl', 'perf ctl -r, from start to end'),
           ('sigusr2', 'perf record --overwrite, SIGUSR2')]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    size, speed = {}, collections.defaultdict(dict)
    with open(sys.argv[1]) as f:
        for line in f:
            turn, what, count, time = line.split()
            size[what] = int(count)
            speed[what][turn] = int(count) * 1e3 / int(time)
    print(f'{"":34}{"MB":>7}{"MB/s":>9}   of the memcpy() in the same round: '
          f'median (least to largest)')
    for what, name in READERS:
        ratios = [value / speed['memory'][turn] for turn, value in speed[what].items()]
        print(f'{name:34}{size[what] / 1e6:7.1f}'
              f'{statistics.median(speed[what].values()):9.1f}'
              f'   {statistics.median(ratios):7.3f}  ({min(ratios):.3f} to {max(ratios):.3f})')


if __name__ == '__main__':
    main()
