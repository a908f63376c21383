/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM perf_sample

#if !defined(_PERF_PERSISTENT_SAMPLE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _PERF_PERSISTENT_SAMPLE_H

#include <linux/tracepoint.h>

TRACE_EVENT(perf_sample_tick,
	    TP_PROTO(unsigned long nr),
	    TP_ARGS(nr),
	    TP_STRUCT__entry(__field(unsigned long, nr)),
	    TP_fast_assign(__entry->nr = nr;),
	    TP_printk("nr=%lu", __entry->nr)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE perf_persistent_sample
#include <trace/define_trace.h>
