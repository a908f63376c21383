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
    memory = max(speed['memory'].values())
    print(f'{"":34}{"":>7}   the fastest round   each of memcpy() in its round\n'
          f'{"":34}{"MB":>7}{"MB/s":>12}{"ratio":>10}   median (least to largest)')
    for what, name in READERS:
        ratios = [value / speed['memory'][turn] for turn, value in speed[what].items()]
        best = max(speed[what].values())
        print(f'{name:34}{size[what] / 1e6:7.1f}{best:12.1f}{best / memory:10.3f}'
              f'   {statistics.median(ratios):6.3f}  ({min(ratios):.3f} to {max(ratios):.3f})')


if __name__ == '__main__':
    main()
