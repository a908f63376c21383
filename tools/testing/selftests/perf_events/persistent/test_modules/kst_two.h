/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kst_two

#if !defined(KST_TWO_H) || defined(TRACE_HEADER_MULTI_READ)
#define KST_TWO_H

#include <linux/tracepoint.h>

/* Different fields than kst_first has, at the same offsets */
TRACE_EVENT(kst_second,

	TP_PROTO(u64 number),

	TP_ARGS(number),

	TP_STRUCT__entry(
		__field(u64, second)
		__array(s16, halves, 2)
	),

	TP_fast_assign(
		__entry->second = number;
		__entry->halves[0] = number / 2;
		__entry->halves[1] = -(number / 2);
	),

	TP_printk("the second is %llu", __entry->second)
);

#endif /* KST_TWO_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE kst_two
#include <trace/define_trace.h>
