#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tables of what scripts/bench.sh has measured.

usage: table.py table DIR JSON    instructions, also to JSON
       table.py check DIR STORED  fail if the recording path has grown
       table.py store DIR STORED
       table.py times DIR         by the clock
       table.py snapshots DIR     only the one about them
"""
import collections
import json
import statistics
import sys

# What is recorded, the events in one time of the load, and what they are.
ROWS = {
    'getppid': ('raw_syscalls:sys_enter, getppid', 1),
    'pipe': ('sched:sched_switch, pipe', 2),
    'kprobe': ('kprobe, getppid', 1),
    'clock': ('cpu-clock -g, user code', None),
}
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


def per_event(row, result, none):
    """Instructions for an event: what the load takes more than without it."""
    if result is None:
        return None
    events = ROWS[row][1]
    if events:
        return (result.cost - none.cost) / events
    # As many as fit into the time.
    return (result.all - none.all) / (result.all / PERIOD)


def instructions(results, config, row):
    return per_event(row, results[config].get(row), results['none'].get(row))


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
                for entry in record for key in ('plain', 'ftrace', 'overwrite', 'persistent')
                if entry[key] is not None)
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


def table(directory, path):
    ours, base = read(f'{directory}/ours'), read(f'{directory}/base')
    setup = about(directory)
    record = []
    for row in ours['persistent']:
        entry = {'name': ROWS[row][0],
                 'plain': instructions(base, 'overwrite', row),
                 'ftrace': instructions(ours, 'ftrace', row),
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
    print(f'{"":32}{"plain":>8}{"ftrace":>8}{"over-":>8}{"persis-":>8}'
          f'{"  of plain":>10}{"  of ftrace":>11}   {"bytes written":>13}')
    print(f'{"":32}{"perf":>8}{"":>8}{"write":>8}{"tent":>8}{"":>10}{"":>11}'
          f'   {"perf, persistent, ftrace"}')
    for e in record:
        sizes = e['bytes']
        print(f'{e["name"]:32}{number(e["plain"])}{number(e["ftrace"])}'
              f'{number(e["overwrite"])}{number(e["persistent"])}'
              f'{number(ratio(e["persistent"], e["plain"]), "10.3f")}'
              f'{number(ratio(e["persistent"], e["ftrace"]), "11.3f")}'
              f'   {sizes["plain"]:.0f}, {sizes["persistent"]:.0f}, '
              f'{number(sizes.get("ftrace"), "1.0f")}')
    compare(record, setup, path)
    taken = snapshots(f'{directory}/snapshots')
    with open(path, 'w') as f:
        json.dump({'about': setup, 'record': record, 'snapshot': taken}, f, indent=1)
        f.write('\n')
    print(f'\nplain perf: perf record --overwrite on the kernel without the series. '
          f'Also in {path}.')


def check(directory, path, store=False):
    results, setup = read(f'{directory}/check'), about(directory)
    now = {row: round(instructions(results, 'persistent', row), 1)
           for row in results['persistent']}
    if store:
        with open(path, 'w') as f:
            json.dump({'about': setup, 'persistent': now}, f, indent=1)
            f.write('\n')
        print(f'bench: stored {now}')
        return 0
    with open(path) as f:
        stored = json.load(f)
    if stored['about'] != setup:
        print(f'bench: stored with {stored["about"]}, this is {setup}')
        print(f'0 passed, 0 failed, {len(now)} skipped')
        return 0
    bad = 0
    for row, value in now.items():
        was = stored['persistent'][row]
        # Of what was measured, which is the load with the event.
        slack = TOLERANCE * (was + results['none'][row].cost / (ROWS[row][1] or 1))
        grown = value > was + slack
        bad += grown
        print(f'bench: {ROWS[row][0]:32} {value:8.1f} instructions, stored {was:8.1f} '
              f'+ {slack:.1f}: {"GROWN" if grown else "ok"}')
        if value < was - slack:
            print('bench: it has become cheaper; "scripts/bench.sh -s" stores that')
    print(f'{len(now) - bad} passed, {bad} failed, 0 skipped')
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


def main():
    verb, *args = sys.argv[1:] or ['']
    if verb == 'table' and len(args) == 2:
        return table(*args)
    if verb in ('check', 'store') and len(args) == 2:
        return check(*args, store=verb == 'store')
    if verb == 'times' and len(args) == 1:
        return times(*args)
    if verb == 'snapshots' and len(args) == 1:
        snapshots(f'{args[0]}/snapshots')
        return 0
    sys.exit(__doc__)


if __name__ == '__main__':
    sys.exit(main())
