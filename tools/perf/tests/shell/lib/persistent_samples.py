# SPDX-License-Identifier: GPL-2.0
#
# persistent_samples.py FILE: print the bytes of each sample of a perf.data file in pipe
# format, in hexadecimal, so that a test can compare them.

import struct
import sys

SAMPLE, TRACING_DATA = 9, 66


def records(data):
    magic, pos = struct.unpack_from('=QQ', data)
    if magic != 0x32454c4946524550 or pos != 16:
        sys.exit('not in pipe format')
    while pos < len(data):
        kind, _, size = struct.unpack_from('=IHH', data, pos)
        if size < 8 or pos + size > len(data):
            sys.exit('a record that is broken, at %d' % pos)
        yield kind, data[pos:pos + size]
        # The formats of tracepoints follow their record, and its size does not include them.
        if kind == TRACING_DATA:
            size += struct.unpack_from('=I', data, pos + 8)[0]
        pos += size


with open(sys.argv[1], 'rb') as file:
    for kind, record in records(file.read()):
        if kind == SAMPLE:
            print(record.hex())
