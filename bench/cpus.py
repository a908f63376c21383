#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The part of scripts/bench-read.sh that runs in guests of few and of many CPUs.

usage: cpus.py LOAD PERF

1 MiB on each CPU, full of raw_syscalls:sys_enter, is read and reported. Prints lines of
  CPUS WHAT SAMPLES MIB PEAK
where MIB is the size of what was read or written, and PEAK is the most memory, in MiB, that
perf had at once. 0 SAMPLES: nobody counts them.
"""
import os
import subprocess
import sys
import time

FILE = '/tmp/cpus.data'
EVENT = 'raw_syscalls:sys_enter'


def run(args, enough=None):
    """The number of lines that it prints, and its peak; with @enough, until it prints that."""
    keys = os.pipe() if enough else None
    with open('/tmp/said', 'w+') as said, open('/tmp/printed', 'w+') as out:
        child = subprocess.Popen(args, stdout=out, stderr=said,
                                 stdin=keys[0] if keys else subprocess.DEVNULL)
        if enough:
            wait_for(child, enough)
            os.write(keys[1], b'q')
        _, status, usage = os.wait4(child.pid, 0)
        said.seek(0)
        if status:
            sys.exit(f'{" ".join(args)}: {said.read()}')
        out.seek(0)
        return sum(1 for line in out if line.strip()), usage.ru_maxrss / 1024


def wait_for(child, enough):
    """A minute at most, and no longer than it lives."""
    for _ in range(600):
        with open('/tmp/printed') as out:
            if any(enough in line for line in out):
                return
        if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.1)
    child.kill()


def fill(load, cpus):
    """More calls than fit on each of them."""
    call = [load, '-n', '200', '-r', '100', 'getppid']
    loads = [subprocess.Popen(['taskset', '-c', str(cpu)] + call, stdout=subprocess.DEVNULL)
             for cpu in range(cpus)]
    if any(load.wait() for load in loads):
        sys.exit('load failed')


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    load, perf = map(os.path.realpath, sys.argv[1:])
    cpus = os.cpu_count()

    def report(what, samples, peak):
        print(cpus, what, samples, f'{os.path.getsize(FILE) / 2 ** 20:.1f} {peak:.1f}', flush=True)

    run([perf, 'record', '-P', 'cpus', '-m', '1M', '-e', EVENT, '-a'])
    fill(load, cpus)
    _, peak = run([perf, 'ctl', '-r', 'cpus', '-o', FILE])
    samples, script = run([perf, 'script', '-i', FILE, '-F', 'comm,cpu,time,event'])
    report('perf-ctl', samples, peak)
    report('perf-script', samples, script)
    _, peak = run([perf, 'top', '--stdio', '-E', '20', '-s', 'comm', '-e', 'persistent/cpus/'], '% ')
    report('perf-top', 0, peak)
    run([perf, 'ctl', '-d', 'cpus'])


if __name__ == '__main__':
    main()
