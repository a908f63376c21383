#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tables of what scripts/bench.sh has measured.

usage: table.py table DIR JSON    instructions, also to JSON
       table.py beside JSON JSON  what "table" wrote for two kernels
       table.py check DIR STORED  fail if the recording path has grown
       table.py store DIR STORED
       table.py times DIR         by the clock
       table.py snapshots DIR     only the one about them
       table.py hardware FILE COUNTER...  what bench/hardware.sh has counted
"""
import collections
import json
import statistics
import sys

# What is recorded, and the events in one time of the load.
ROWS = {
    'getppid': ('raw_syscalls:sys_enter, getppid', 1),
    'pipe': ('sched:sched_switch, pipe', 2),
    'kprobe': ('kprobe, getppid', 1),
    'two': ('sys_enter, two recorders', 1),
    'filter': ('sched_switch, with a filter', 2),
    'chain': ('sys_enter, with call chain', 1),
    'clock': ('cpu-clock -g, user code', None),
}
# LTTng cannot record how a system call begins without how it ends: half of both.
LTTNG_RECORDS = {'getppid': 2, 'two': 2, 'chain': 2}
# The unwinder searches a table of the kernel's functions. What that costs depends on
# where functions lie, so that a change anywhere moves it, for plain perf as well.
UNWINDS = ('chain',)
# The second recorder copies what the first one wrote. x86's memcpy() compares the
# last bytes of the two addresses, and copies backwards or forwards: one of it takes 2
# instructions more, and which one it is differs from boot to boot.
COPIES = {'two': 2}
# What is stored and checked: plain perf uses the recording path, too.
CHECKED = ('overwrite', 'persistent')
# Who records, and the heads of their columns.
RECORDERS = {'plain': ('plain', 'perf'), 'ftrace': ('ftrace', ''), 'lttng': ('LTTng', ''),
             'overwrite': ('over-', 'write'), 'persistent': ('persis-', 'tent')}
# cpu-clock: nanoseconds, which are instructions, from one to the next.
PERIOD = 100000

# Runs differ by less than that; what a tick of the timer interrupts is not the
# same each time.
TOLERANCE = 0.005


class Result:
    def __init__(self, words):
        (self.cost, self.least, self.largest, self.all, self.time,
         self.size) = map(float, words)


def read(path):
    """Results by what recorded and by row."""
    results = collections.defaultdict(dict)
    with open(path) as f:
        for line in f:
            config, row, *words = line.split()
            results[config][row] = Result(words)
    return results


def about(directory):
    with open(f'{directory}/about') as f:
        return dict(line.split(maxsplit=1) for line in f.read().splitlines()
                    if ' ' in line.strip())


def per_event(row, result, none, records=1):
    """Instructions for an event: what the load takes more than without it."""
    if result is None:
        return None
    events = ROWS[row][1]
    if events:
        events *= records
        return (result.cost - none.cost) / events
    # As many as fit into the time.
    return (result.all - none.all) / (result.all / PERIOD)


def instructions(results, config, row):
    records = LTTNG_RECORDS.get(row, 1) if config == 'lttng' else 1
    return per_event(row, results[config].get(row), results['none'].get(row), records)


def number(value, form='8.0f'):
    width = form.split('.')[0]
    return format('-', '>' + width) if value is None else format(value, form)


def ratio(a, b):
    return None if a is None or not b else a / b


def compare(record, setup, path):
    """Say how far this run is from the one before, of the load with the event."""
    try:
        with open(path) as f:
            before = json.load(f)
    except FileNotFoundError:
        return
    was = {entry['row']: entry for entry in before['record']}
    if before['about'] != setup or was.keys() != {entry['row'] for entry in record}:
        return
    worst = max((abs(entry[key] - was[entry['row']][key]) /
                 (was[entry['row']][key] + entry['load'] / (ROWS[entry['row']][1] or 1)),
                 entry['name'], key)
                for entry in record for key in RECORDERS
                if entry[key] is not None and was[entry['row']].get(key) is not None)
    print(f'\nFrom the run before it differs by {worst[0] * 100:.2f} % at most: '
          f'{worst[1]}, {worst[2]}.')


# Who takes snapshots, of what bench/snapshot.sh prints.
TAKERS = {'nothing': 'nobody', 'namespace': 'namespace',
          'spare': 'namespace, with a spare',
          'ftrace': 'ftrace, allocated',
          'dump': 'perf record --overwrite, SIGUSR2'}


def snapshots(path):
    """What it costs to take one, how late it makes an interrupt, and what is lost."""
    results = {how: {'name': name} for how, name in TAKERS.items()}
    with open(path) as f:
        for line in f:
            what, how, *words = line.split()
            words = list(map(int, words))
            if what == 'cost':
                results[how]['instructions'] = words[1]
            else:
                records, taken, *_, late, interrupts = words
                results[how]['late'] = late
                if how == 'nothing':
                    continue
                # One that comes while the timer is stopped is a record, too.
                if records > interrupts + taken:
                    sys.exit(f'{how}: {records} records of {interrupts} interrupts')
                results[how]['lost'] = round(max(interrupts - records, 0) / taken, 1)
    print('\nInstructions for a snapshot of 1 MiB; lost of records that come every 20,000\n')
    print(f'{"":34}{"of who":>12}{"an interrupt":>15}{"records":>10}\n'
          f'{"":34}{"takes it":>12}{"late by":>15}{"lost":>10}')
    for taker in results.values():
        print(f'{taker["name"]:34}{taker["instructions"]:12}{taker["late"]:15}'
              f'{number(taker.get("lost"), "10.1f")}')
    return list(results.values())


def optional(path, reader):
    """What a run without LTTng, or on another base, does not have."""
    try:
        return reader(path)
    except FileNotFoundError:
        return None


def lttng_version(path):
    with open(path) as f:
        return ', '.join(line.strip() for line in f)


def columns(values, form):
    return ''.join(number(value, form) for value in values)


def table(directory, path):
    ours, base = read(f'{directory}/ours'), read(f'{directory}/base')
    lttng = optional(f'{directory}/lttng', read) or collections.defaultdict(dict)
    version = optional(f'{directory}/lttng-version', lttng_version)
    setup = about(directory)
    record = []
    for row in ours['persistent']:
        entry = {'name': ROWS[row][0],
                 'plain': instructions(base, 'overwrite', row),
                 'ftrace': instructions(ours, 'ftrace', row),
                 'lttng': instructions(lttng, 'lttng', row),
                 'overwrite': instructions(ours, 'overwrite', row),
                 'persistent': instructions(ours, 'persistent', row)}
        entry = {k: round(v, 1) if isinstance(v, float) else v for k, v in entry.items()}
        entry['row'] = row
        entry['load'] = round(ours['none'][row].cost, 1)
        entry['bytes'] = {'plain': base['overwrite'][row].size,
                          'overwrite': ours['overwrite'][row].size,
                          'persistent': ours['persistent'][row].size}
        if row in ours['ftrace']:
            entry['bytes']['ftrace'] = ours['ftrace'][row].size
        record.append(entry)

    print('Instructions an event (1 CPU; ' +
          ', '.join(f'{k} {v}' for k, v in setup.items()) + ')\n')
    heads = zip(*RECORDERS.values())
    print(f'{"":32}' + ''.join(f'{head:>8}' for head in next(heads)) +
          '  of plain  of ftrace  of LTTng   bytes written')
    print(f'{"":32}' + ''.join(f'{head:>8}' for head in next(heads)) +
          f'{"":31}   perf, persistent, ftrace')
    for e in record:
        sizes = e['bytes']
        ratios = [ratio(e['persistent'], e[key]) for key in ('plain', 'ftrace', 'lttng')]
        print(f'{e["name"]:32}' + columns((e[key] for key in RECORDERS), '8.0f') +
              columns(ratios[:1], '10.3f') + columns(ratios[1:2], '11.3f') +
              columns(ratios[2:], '10.3f') + f'   {sizes["plain"]:.0f}, '
              f'{sizes["persistent"]:.0f}, {number(sizes.get("ftrace"), "1.0f")}')
    compare(record, setup, path)
    taken = optional(f'{directory}/snapshots', snapshots)
    with open(path, 'w') as f:
        json.dump({'about': setup, 'lttng': version, 'record': record, 'snapshot': taken},
                  f, indent=1)
        f.write('\n')
    print('\nplain perf: perf record --overwrite on the kernel without the series. '
          f'LTTng: {version or "there is none"}. Also in {path}.')


def beside(*paths):
    """Plain perf and namespaces, on kernels that are not the same."""
    runs = []
    for path in paths:
        with open(path) as f:
            runs.append(json.load(f))
    records = [{entry['row']: entry for entry in run['record']} for run in runs]
    heads = ('plain', 'overwrite', 'persistent')
    print(f'\n{"Instructions an event":32}' +
          ''.join(f'{run["about"]["kernel"]:>34}' for run in runs))
    print(f'{"":32}' + ''.join(f'{head:>11}' for head in heads).rjust(34) * len(runs))
    for row, first in records[0].items():
        if all(row in record for record in records):
            print(f'{first["name"]:32}' +
                  ''.join(columns((record[row][key] for key in heads), '11.0f').rjust(34)
                          for record in records))


def check(directory, path, store=False):
    results, setup = read(f'{directory}/check'), about(directory)
    now = {config: {row: round(instructions(results, config, row), 1)
                    for row in results[config] if row not in UNWINDS} for config in CHECKED}
    for row in set(UNWINDS) & set(results['persistent']):
        now['persistent'][row] = round(instructions(results, 'persistent', row) -
                                       instructions(results, 'overwrite', row), 1)
    if store:
        with open(path, 'w') as f:
            json.dump({'about': setup, **now}, f, indent=1)
            f.write('\n')
        print(f'bench: stored {now}')
        return 0
    checks = [(config, row, value) for config in CHECKED for row, value in now[config].items()]
    with open(path) as f:
        stored = json.load(f)
    if stored['about'] != setup:
        print(f'bench: stored with {stored["about"]}, this is {setup}')
        print(f'0 passed, 0 failed, {len(checks)} skipped')
        return 0
    bad = 0
    for config, row, value in checks:
        was = stored[config][row]
        # Of what was measured, which is the load with the event.
        slack = TOLERANCE * (was + results['none'][row].cost / (ROWS[row][1] or 1))
        slack += COPIES.get(row, 0)
        if row in UNWINDS:
            slack += TOLERANCE * instructions(results, 'overwrite', row)
        grown = value > was + slack
        bad += grown
        print(f'bench: {config:10} {ROWS[row][0]:32} {value:8.1f} instructions, '
              f'stored {was:8.1f} + {slack:.1f}{" more than plain" if row in UNWINDS else ""}: '
              f'{"GROWN" if grown else "ok"}')
        if value < was - slack:
            print('bench: it has become cheaper; "scripts/bench.sh -s" stores that')
    print(f'{len(checks) - bad} passed, {bad} failed, 0 skipped')
    return int(bad > 0)


def times(directory):
    """Each cost relative to that without recording, in the same boot. Of the rounds
    of a load it is the fastest: what else runs on the host only makes them slower."""
    cost, ratios = {}, collections.defaultdict(list)
    with open(f'{directory}/times') as f:
        for line in f:
            rnd, kernel, config, row, *words = line.split()
            cost[rnd, kernel, config, row] = Result(words).least
    for (rnd, kernel, config, row), value in cost.items():
        if config != 'none':
            ratios[row, kernel, config].append(value / cost[rnd, kernel, 'none', row])
    print('Time of the load, nothing enabled being 1: median (least to largest) of the boots\n')
    names = {('base', 'overwrite'): 'plain perf', ('ours', 'ftrace'): 'ftrace',
             ('ours', 'overwrite'): 'overwrite', ('ours', 'persistent'): 'persistent'}
    for row in ROWS:
        for key, name in names.items():
            values = ratios.get((row, *key))
            if values:
                print(f'{ROWS[row][0]:32} {name:12} {statistics.median(values):7.3f}'
                      f'  ({min(values):.3f} to {max(values):.3f})')


# Of hardware.sh
NAMES = {'none': 'nothing', 'ftrace': 'ftrace', 'overwrite': 'perf record --overwrite',
         'persistent': 'namespace'}


def hardware(path, *counters):
    """Medians of the rounds: a time of the load without, and an event beyond that."""
    counted = collections.defaultdict(list)
    with open(path) as f:
        for line in f:
            config, row, times, *values, size = line.split()
            events = ROWS[row][1]
            # perf stat has times in milliseconds.
            values = [None if v == '-' else float(v) / int(times) / events *
                      (1e6 if counter == 'cpu-clock' else 1)
                      for counter, v in zip(counters, values)]
            counted[row, config].append(values + [float(size)])
    print(f'{"":32}{"":24}' + ''.join(f'{c:>14}' for c in counters) + f'{"bytes":>8}')
    for row, config in counted:
        middle = [None if None in values else statistics.median(values)
                  for values in zip(*counted[row, config])]
        if config == 'none':
            none = middle
        else:
            middle[:-1] = [None if m is None else m - n for m, n in zip(middle, none[:-1])]
        print(f'{ROWS[row][0]:32}{NAMES[config]:24}' + columns(middle[:-1], '14.2f') +
              number(middle[-1] or None, '8.0f'))


def main():
    verb, *args = sys.argv[1:] or ['']
    if verb == 'table' and len(args) == 2:
        return table(*args)
    if verb == 'beside' and len(args) == 2:
        beside(*args)
        return 0
    if verb in ('check', 'store') and len(args) == 2:
        return check(*args, store=verb == 'store')
    if verb == 'times' and len(args) == 1:
        return times(*args)
    if verb == 'snapshots' and len(args) == 1:
        snapshots(f'{args[0]}/snapshots')
        return 0
    if verb == 'hardware' and len(args) > 1:
        hardware(*args)
        return 0
    sys.exit(__doc__)


if __name__ == '__main__':
    sys.exit(main())
