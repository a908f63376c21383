# SPDX-License-Identifier: GPL-2.0
#
# gdb helper commands and functions for Linux kernel debugging
#
#  list namespaces of persistent perf events, and save their records
#
# This file does not use the other helpers, so that gdb can source it alone for
# a kernel that was built without CONFIG_GDB_SCRIPTS.

import struct

import gdb

PAGE_SIZE = 4096
RECORD_MMAP = 1
RECORD_SAMPLE = 9
MISC_KERNEL = 1
TYPE_TRACEPOINT = 2
FEATURE_TRACING_DATA = 1
FEATURE_EVENT_DESC = 12
SAMPLE_ID_ALL_BITS = (1 << 1, 1 << 2, 1 << 6, 1 << 7, 1 << 9, 1 << 16)
SAMPLE_IP = 1 << 0
SAMPLE_CPU = 1 << 7
SAMPLE_PERIOD = 1 << 8
SAMPLE_RAW = 1 << 10
SAMPLE_STACK_USER = 1 << 13
SAMPLE_IDENTIFIER = 1 << 16
SAMPLE_AUX = 1 << 20
# Fields of a sample between its identifier and its period
SAMPLE_WORDS = SAMPLE_IP | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | SAMPLE_CPU | 1 << 9
ATTR_FREQ = 1 << 10
ATTR_SAMPLE_ID_ALL = 1 << 18


def rb_entries(root, type_name, member):
    """The structures in a struct rb_root, in order."""
    entry = gdb.lookup_type(type_name)
    offset = next(f.bitpos // 8 for f in entry.fields() if f.name == member)
    char = gdb.lookup_type("char").pointer()

    def walk(node):
        if not int(node):
            return
        yield from walk(node["rb_left"])
        yield (node.cast(char) - offset).cast(entry.pointer()).dereference()
        yield from walk(node["rb_right"])

    return walk(root["rb_node"])


def namespaces():
    """All namespaces that have a name, including snapshots."""
    root = gdb.parse_and_eval("(unsigned long)&perf_persist_names")
    root = root.cast(gdb.lookup_type("struct rb_root").pointer()).dereference()
    return rb_entries(root, "struct perf_persist_ns", "name_node")


def find_namespace(name):
    for ns in namespaces():
        if ns["name"].string() == name:
            return ns
    raise gdb.GdbError("There is no namespace called '{}'.".format(name))


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(int(address), size))


def signed(value):
    value = int(value) & (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def records(rb):
    """All complete records of a buffer that is written backward, newest first."""
    pages = int(rb["nr_pages"])
    size = pages * PAGE_SIZE
    array = memory(rb["data_pages"].address, 8 * pages)
    data = b"".join(memory(page, PAGE_SIZE) for page in struct.unpack("<%dQ" % pages, array))
    reserved = signed(rb["head"]["a"]["counter"])
    pos = signed(rb["user_page"]["data_head"])
    # A writer that has not finished its record may have overwritten the oldest ones.
    end = min(0, reserved + size)
    out = []
    while pos + 8 <= end:
        at = pos % size
        header = (data + data[:8])[at:at + 8]
        length = struct.unpack("<IHH", header)[2]
        if length < 8 or pos + length > end:
            break
        out.append((data[at:] + data[:at])[:length])
        pos += length
    return out


class Narrow:
    """Fields that the records of a member leave out, see kernel/events/read_wide.c."""

    def __init__(self, attr, cpu):
        kind, period, sample_type, flags = struct.unpack_from("<I12xQQ8xQ", attr)
        self.attr = attr
        self.cpu = cpu
        self.sample_type = sample_type
        self.left_out = 0
        if cpu < 0 or not sample_type & SAMPLE_IDENTIFIER or not flags & ATTR_SAMPLE_ID_ALL:
            return
        tracepoint = kind == TYPE_TRACEPOINT
        if sample_type & (SAMPLE_STACK_USER | SAMPLE_AUX) or \
           (sample_type & SAMPLE_RAW and not tracepoint):
            return
        left_out = SAMPLE_CPU
        if tracepoint:
            left_out |= SAMPLE_IP
        if tracepoint and period == 1 and not flags & ATTR_FREQ:
            left_out |= SAMPLE_PERIOD
        self.left_out = left_out & ~sample_type

    def wide_attr(self):
        sample_type = struct.pack("<Q", self.sample_type | self.left_out)
        return self.attr[:24] + sample_type + self.attr[32:]

    def widen(self, record):
        kind, misc = struct.unpack_from("<IH", record)
        cpu = struct.pack("<II", self.cpu, 0) if self.left_out & SAMPLE_CPU else b""
        if kind == RECORD_SAMPLE:
            ip = bytes(8) if self.left_out & SAMPLE_IP else b""
            period = struct.pack("<Q", 1) if self.left_out & SAMPLE_PERIOD else b""
            at = 16 + 8 * bin(self.sample_type & SAMPLE_WORDS).count("1")
            body = record[8:16] + ip + record[16:at] + cpu + period + record[at:]
        else:
            body = record[8:-8] + cpu + record[-8:]
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def narrow_members(ns):
    """Members whose records leave out fields, by their ids."""
    members = {}
    for member in rb_entries(ns["members"], "struct perf_member", "node"):
        attr = memory(member["attr"].address, member["attr"].type.sizeof)
        narrow = Narrow(attr, int(member["event"]["cpu"]))
        if narrow.left_out:
            members[int(member["event"]["id"])] = narrow
    return members


def widen(record, members):
    """The record with all fields, as perf record writes it."""
    at = 8 if struct.unpack_from("<I", record)[0] == RECORD_SAMPLE else len(record) - 8
    narrow = members.get(struct.unpack_from("<Q", record, at)[0]) if len(record) >= 16 else None
    return narrow.widen(record) if narrow else record


class Event:
    """Members that differ only in their CPU."""

    def __init__(self, attr, label):
        self.attr = attr
        self.label = label
        self.ids = []


def events_of(ns):
    events = {}
    for member in rb_entries(ns["members"], "struct perf_member", "node"):
        attr = memory(member["attr"].address, member["attr"].type.sizeof)
        attr = Narrow(attr, int(member["event"]["cpu"])).wide_attr()
        label = member["label"].string()
        event = events.setdefault((attr, label), Event(attr, label))
        event.ids.append(int(member["event"]["id"]))
    return list(events.values())


def kernel_map(event):
    """A record with the address range of the kernel's code."""
    try:
        start, end = (int(gdb.parse_and_eval("(unsigned long)&" + symbol))
                      for symbol in ("_text", "_etext"))
    except gdb.error:
        return b""
    name = b"[kernel.kallsyms]_text"
    name += b"\0" * (8 - len(name) % 8)
    sample_type = struct.unpack_from("<Q", event.attr, 24)[0]
    trailer = b""
    for bit in SAMPLE_ID_ALL_BITS:
        if sample_type & bit:
            trailer += struct.pack("<Q", event.ids[0] if bit in (1 << 6, SAMPLE_IDENTIFIER) else 0)
    body = struct.pack("<iIQQQ", -1, 0, start, end - start, start) + name + trailer
    return struct.pack("<IHH", RECORD_MMAP, MISC_KERNEL, 8 + len(body)) + body


def event_desc(events):
    """The names of the events, as perf stores them."""
    out = struct.pack("<II", len(events), len(events[0].attr))
    for event in events:
        name = event.label.encode() + b"\0"
        name += b"\0" * (-len(name) % 64)
        out += event.attr + struct.pack("<II", len(event.ids), len(name)) + name
        out += struct.pack("<%dQ" % len(event.ids), *event.ids)
    return out


def tracing_data(path):
    """The formats of tracepoints in a perf.data file."""
    with open(path, "rb") as file:
        content = file.read()
    at, size, features = struct.unpack_from("<QQ16xQ", content, 40)
    if content[:8] != b"PERFILE2" or not features & 1 << FEATURE_TRACING_DATA:
        raise gdb.GdbError("{} has no tracepoints.".format(path))
    # Tracing data is bit 1, the first feature: bit 0 is unused.
    at, size = struct.unpack_from("<QQ", content, at + size)
    return content[at:at + size]


def perf_data(events, data, tracing):
    """The contents of a perf.data file."""
    header_size, attr_size = 104, len(events[0].attr) + 16
    ids = attrs = b""
    for event in events:
        section = struct.pack("<QQ", header_size + len(ids), 8 * len(event.ids))
        ids += struct.pack("<%dQ" % len(event.ids), *event.ids)
        attrs += event.attr + section
    attrs_at = header_size + len(ids)
    data_at = attrs_at + len(attrs)
    features = {FEATURE_EVENT_DESC: event_desc(events)}
    if tracing:
        features[FEATURE_TRACING_DATA] = tracing
    at = data_at + len(data) + 16 * len(features)
    table = contents = b""
    for bit in sorted(features):
        table += struct.pack("<QQ", at + len(contents), len(features[bit]))
        contents += features[bit]
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ4Q", header_size, attr_size,
                                       attrs_at, len(attrs), data_at, len(data), 0, 0,
                                       sum(1 << bit for bit in features), 0, 0, 0)
    return header + ids + attrs + data + table + contents


class LxPerfPersistentList(gdb.Command):
    """List the namespaces of persistent perf events."""

    def __init__(self):
        super().__init__("lx-perf-persistent", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        for ns in namespaces():
            labels = [event.label for event in events_of(ns)]
            gdb.write("{} {}\n".format(ns["name"].string(), ",".join(labels)))


class LxPerfPersistentSave(gdb.Command):
    """Save the records of a namespace of persistent perf events as a perf.data file.

lx-perf-persistent-save NAME FILE [PERF.DATA]

If the namespace has tracepoints, their formats come from PERF.DATA, which can be any
recording of tracepoints on the same kernel."""

    def __init__(self):
        super().__init__("lx-perf-persistent-save", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        argv = gdb.string_to_argv(arg)
        if len(argv) not in (2, 3):
            raise gdb.GdbError("usage: lx-perf-persistent-save NAME FILE [PERF.DATA]")
        ns = find_namespace(argv[0])
        events = events_of(ns)
        tracing = tracing_data(argv[2]) if len(argv) == 3 else b""
        if not tracing and any(struct.unpack_from("<I", event.attr)[0] == TYPE_TRACEPOINT
                               for event in events):
            raise gdb.GdbError("'{}' has tracepoints. Record any tracepoint on the same kernel,\n"
                               "'perf record -e TRACEPOINT -a true', and pass it as PERF.DATA."
                               .format(argv[0]))
        out, buffers = [kernel_map(events[0])], set()
        members = narrow_members(ns)
        for member in rb_entries(ns["members"], "struct perf_member", "node"):
            rb = member["rb"]
            if not int(rb) or int(rb) in buffers:
                continue
            buffers.add(int(rb))
            out += [widen(record, members) for record in records(rb.dereference())]
        with open(argv[1], "wb") as file:
            file.write(perf_data(events, b"".join(out), tracing))
        gdb.write("{}: {} records of {} buffers\n".format(argv[1], len(out) - 1, len(buffers)))


LxPerfPersistentList()
LxPerfPersistentSave()
