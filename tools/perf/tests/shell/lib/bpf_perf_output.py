# SPDX-License-Identifier: GPL-2.0
#
# bpf_perf_output.py PIN: pin a map of perf events at PIN, and a map of another type at
# PIN_other. Until stdin ends, a BPF program runs on each exec and writes to the event of
# its CPU in the map. Tests use it as the other side of 'perf record --trigger bpf:PIN'.

import ctypes
import os
import platform
import struct
import sys

NR_BPF = {'x86_64': 321, 'aarch64': 280, 'riscv64': 280, 's390x': 351, 'ppc64le': 361}
MAP_CREATE, PROG_LOAD, OBJ_PIN, RAW_TRACEPOINT_OPEN = 0, 5, 6, 17
ARRAY, PERF_EVENT_ARRAY, RAW_TRACEPOINT = 2, 4, 17

libc = ctypes.CDLL(None, use_errno=True)


def bpf(cmd, *words):
    attr = struct.pack('<%dQ' % len(words), *words).ljust(128, b'\0')
    fd = libc.syscall(NR_BPF[platform.machine()], cmd, attr, len(attr))
    if fd < 0:
        sys.exit('bpf(%d): %s' % (cmd, os.strerror(ctypes.get_errno())))
    return fd


def address(buf):
    return ctypes.cast(buf, ctypes.c_void_p).value


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack('<BBhi', code, src << 4 | dst, off, imm)


cpus = os.cpu_count()
events = bpf(MAP_CREATE, PERF_EVENT_ARRAY | 4 << 32, 4 | cpus << 32)
path = ctypes.create_string_buffer(sys.argv[1].encode())
bpf(OBJ_PIN, address(path), events)
# A plain array, which cannot hold events
other = bpf(MAP_CREATE, ARRAY | 4 << 32, 4 | cpus << 32)
path = ctypes.create_string_buffer(sys.argv[1].encode() + b'_other')
bpf(OBJ_PIN, address(path), other)

code = (insn(0x7a, 10, off=-8)                          # *(u64 *)(r10 - 8) = 0
        + insn(0x18, 2, 1, imm=events) + insn(0)        # r2 = events
        + insn(0x18, 3, imm=-1) + insn(0)               # r3 = BPF_F_CURRENT_CPU
        + insn(0xbf, 4, 10) + insn(0x07, 4, imm=-8)     # r4 = r10 - 8
        + insn(0xb7, 5, imm=8)                          # r5 = 8
        + insn(0x85, imm=25)                            # bpf_perf_event_output()
        + insn(0xb7, 0) + insn(0x95))                   # return 0
text = ctypes.create_string_buffer(code, len(code))
licence = ctypes.create_string_buffer(b'GPL')
prog = bpf(PROG_LOAD, RAW_TRACEPOINT | len(code) // 8 << 32, address(text), address(licence))
name = ctypes.create_string_buffer(b'sched_process_exec')
link = bpf(RAW_TRACEPOINT_OPEN, address(name), prog)
print('runs', flush=True)
sys.stdin.read()
