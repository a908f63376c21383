#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Draw the table of make bench.

usage: figure.py BENCH_JSON SVG
"""
import json
import sys

import matplotlib
matplotlib.use('svg')
import matplotlib.pyplot as plt  # noqa: E402

# The same numbers give the same file.
matplotlib.rcParams['svg.hashsalt'] = 'bench'

BARS = [('plain', 'perf, unpatched kernel', '#b0b0b0'),
        ('overwrite', 'perf record --overwrite', '#7aa6d1'),
        ('persistent', 'persistent namespace', '#1f5a94'),
        ('ftrace', 'ftrace instance', '#e0a030'),
        ('lttng', 'LTTng session', '#a05a2c')]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as f:
        record = json.load(f)['record']
    fig, ax = plt.subplots(figsize=(11, 3.8))
    width = 0.17
    for i, (key, label, colour) in enumerate(BARS):
        at = [n + (i - (len(BARS) - 1) / 2) * width for n in range(len(record))]
        values = [entry[key] or 0 for entry in record]
        ax.bar(at, values, width * 0.92, label=label, color=colour)
        for x, value in zip(at, values):
            if value:
                ax.text(x, value + 30, f'{value:.0f}', ha='center', fontsize=6)
    ax.set_xticks(range(len(record)))
    ax.set_xticklabels([entry['name'].replace(', ', '\n') for entry in record], fontsize=8)
    ax.set_ylabel('instructions an event')
    ax.spines[['top', 'right']].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc='upper left')
    fig.tight_layout()
    fig.savefig(sys.argv[2], metadata={'Date': None})


if __name__ == '__main__':
    main()
