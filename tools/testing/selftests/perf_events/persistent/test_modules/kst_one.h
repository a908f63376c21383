/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kst_one

#if !defined(KST_ONE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KST_ONE_H

#include <linux/tracepoint.h>

TRACE_EVENT(kst_first,

	TP_PROTO(u32 number, const char *word),

	TP_ARGS(number, word),

	TP_STRUCT__entry(
		__field(u32, first)
		__string(word, word)
	),

	TP_fast_assign(
		__entry->first = number;
		__assign_str(word);
	),

	TP_printk("the first is %u, %s", __entry->first, __get_str(word))
);

#endif /* KST_ONE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE kst_one
#include <trace/define_trace.h>
