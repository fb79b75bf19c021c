/* SPDX-License-Identifier: GPL-2.0-only */
#if !defined(RKNPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RKNPU_TRACE_H

#include <linux/tracepoint.h>

#include "rknpu_job.h"

#undef TRACE_SYSTEM
#define TRACE_SYSTEM rknpu
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE rknpu_trace

DECLARE_EVENT_CLASS(rknpu_job,
	TP_PROTO(const struct rknpu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(const void *, job)
		__field(int, pid)
		__field(u32, wanted)
		__field(u32, cores)
		__field(s32, priority)
		__field(u32, tasks)
	),
	TP_fast_assign(
		__entry->job = job;
		__entry->pid = job->pid;
		__entry->wanted = job->sched.wanted;
		__entry->cores = job->sched.mask;
		__entry->priority = job->sched.priority;
		__entry->tasks = job->sched.cost;
	),
	TP_printk("job=%p pid=%d wanted=%#x cores=%#x priority=%d tasks=%u", __entry->job,
		  __entry->pid, __entry->wanted, __entry->cores, __entry->priority,
		  __entry->tasks)
);

/* The job may run, as soon as cores are free. */
DEFINE_EVENT(rknpu_job, rknpu_job_queue,
	TP_PROTO(const struct rknpu_job *job),
	TP_ARGS(job)
);

/* Its cores are about to be started. */
DEFINE_EVENT(rknpu_job, rknpu_job_start,
	TP_PROTO(const struct rknpu_job *job),
	TP_ARGS(job)
);

TRACE_EVENT(rknpu_job_done,
	TP_PROTO(const struct rknpu_job *job, int error),
	TP_ARGS(job, error),
	TP_STRUCT__entry(
		__field(const void *, job)
		__field(int, pid)
		__field(u32, cores)
		__field(u64, elapsed)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->job = job;
		__entry->pid = job->pid;
		__entry->cores = job->mask;
		__entry->elapsed = job->elapsed;
		__entry->error = error;
	),
	TP_printk("job=%p pid=%d cores=%#x elapsed=%llu ns error=%d", __entry->job, __entry->pid,
		  __entry->cores, __entry->elapsed, __entry->error)
);

/* A core ran longer than its job allowed. */
TRACE_EVENT(rknpu_timeout,
	TP_PROTO(unsigned int core, u32 done),
	TP_ARGS(core, done),
	TP_STRUCT__entry(
		__field(unsigned int, core)
		__field(u32, done)
	),
	TP_fast_assign(
		__entry->core = core;
		__entry->done = done;
	),
	TP_printk("core=%u tasks done=%u", __entry->core, __entry->done)
);

TRACE_EVENT(rknpu_reset,
	TP_PROTO(u32 cores, int error),
	TP_ARGS(cores, error),
	TP_STRUCT__entry(
		__field(u32, cores)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->cores = cores;
		__entry->error = error;
	),
	TP_printk("cores=%#x error=%d", __entry->cores, __entry->error)
);

#endif

#include <trace/define_trace.h>
