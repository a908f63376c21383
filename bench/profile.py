#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Where instructions go, by function of the kernel.

usage: profile.py [options] -- COMMAND...

COMMAND is scripts/vm.sh with what runs a load for ever in a guest of one CPU
(nokaslr, VM_ACCEL=icount), and prints READY when it begins. QEMU is asked for the
address of each instruction for a while; the sums are divided by the number of
times that the function named with --unit began.
"""
import argparse
import bisect
import collections
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time


def options():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--map', required=True, help='System.map of the kernel')
    p.add_argument('--unit', required=True, help='function to count by')
    p.add_argument('--units', type=int, default=1000, help='how many of it to look at')
    p.add_argument('--top', type=int, default=45, help='functions to print')
    p.add_argument('--json', help='also write all functions to this file')
    p.add_argument('command', nargs=argparse.REMAINDER)
    o = p.parse_args()
    if o.command[:1] == ['--']:
        del o.command[0]
    if not o.command:
        p.error('no command')
    return o


class Symbols:
    def __init__(self, path):
        pairs = []
        with open(path) as f:
            for line in f:
                address, kind, name = line.split()
                if kind in 'tTwW':
                    pairs.append((int(address, 16), name))
        pairs.sort()
        self.addresses = [a for a, _ in pairs]
        self.names = [n for _, n in pairs]

    def name(self, address):
        if address < 1 << 63:
            return '[user]'
        i = bisect.bisect_right(self.addresses, address) - 1
        return self.names[i] if i >= 0 else '[kernel]'

    def address(self, name):
        return self.addresses[self.names.index(name)]


def command(monitor, line):
    """Have the monitor do something, and wait until it has."""
    monitor.send(line.encode() + b'\n')
    answer = b''
    while not answer.endswith(b'(qemu) '):
        data = monitor.recv(65536)
        if not data:
            break
        answer += data


def record(o, directory):
    monitor_path, log = f'{directory}/monitor', f'{directory}/log'
    env = dict(os.environ, VM_ACCEL='icount',
               VM_QEMU=f'-monitor unix:{monitor_path},server,nowait -D {log}')
    vm = subprocess.Popen(o.command, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace')
    try:
        for line in vm.stdout:
            if 'READY' in line:
                break
            sys.stderr.write(line)
        else:
            sys.exit('profile: the load never began')
        monitor = socket.socket(socket.AF_UNIX)
        monitor.connect(monitor_path)
        command(monitor, '')
        # What READY itself takes is not the load.
        time.sleep(3)
        # A line is about a hundred bytes, and a unit some thousand of them.
        command(monitor, 'singlestep on')
        command(monitor, 'log exec,nochain')
        end = time.time() + 60
        while time.time() < end:
            time.sleep(0.2)
            if os.path.exists(log) and os.path.getsize(log) > o.units * 150000:
                break
        command(monitor, 'log none')
        monitor.close()
    finally:
        vm.terminate()
        vm.wait(30)
    return log


def main():
    o = options()
    symbols = Symbols(o.map)
    unit = symbols.address(o.unit)
    address = re.compile(r'\[[0-9a-f]+/([0-9a-f]+)/')
    # Whole units only: from where the first begins to where the last does.
    count, pending, units = collections.Counter(), None, 0
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        with open(record(o, directory), errors='replace') as log:
            for line in log:
                m = address.search(line)
                if not m:
                    continue
                pc = int(m.group(1), 16)
                if pc == unit:
                    if pending is not None:
                        count.update(pending)
                        units += 1
                    pending = collections.Counter()
                if pending is not None:
                    pending[symbols.name(pc)] += 1
    if not units:
        sys.exit(f'profile: {o.unit} never ran twice')
    total = sum(count.values())
    print(f'{total / units:10.1f}  all, {units} x {o.unit}')
    for name, n in count.most_common(o.top):
        print(f'{n / units:10.1f}  {name}')
    if o.json:
        with open(o.json, 'w') as f:
            json.dump({name: round(n / units, 2) for name, n in count.most_common()},
                      f, indent=1)


if __name__ == '__main__':
    main()
