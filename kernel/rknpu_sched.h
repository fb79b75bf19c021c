/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling policy: which waiting job starts next, and on which cores.
 *
 * Plain data and arithmetic, so that the same two files run in the driver and
 * in the unit tests on a host. See the DOC block in rknpu_sched.c for the rules.
 */
#ifndef RKNPU_SCHED_H
#define RKNPU_SCHED_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

/* No known SoC has more; core masks 0 (AUTO) to 7 index the queues below. */
#define RKNPU_SCHED_CORES	3
#define RKNPU_SCHED_MASKS	BIT(RKNPU_SCHED_CORES)

/* Weights run from 1 to RKNPU_SCHED_WEIGHT_MAX; equal weights, equal shares. */
#define RKNPU_SCHED_WEIGHT	16
#define RKNPU_SCHED_WEIGHT_MAX	256

/* Later jobs that may start on the cores a job waits for before it reserves them. */
#define RKNPU_SCHED_BYPASS_MAX	8

/**
 * struct rknpu_sched_client - one open file, as the policy sees it
 * @node: entry in &rknpu_sched.active while the client has any job
 * @queue: waiting jobs by wanted core mask, each by priority and then arrival
 * @waiting: which of @queue are not empty
 * @clock: weighted hardware time, compared between clients, never shown
 * @last_ns: core time of its last finished job: the guess for its next one
 * @busy_ns: hardware time used on each core
 * @jobs: jobs waiting or running
 * @slice: clock units per nanosecond, the inverse of the weight
 */
struct rknpu_sched_client {
	struct list_head node;
	struct list_head queue[RKNPU_SCHED_MASKS];
	u64 clock;
	u64 last_ns;
	u64 busy_ns[RKNPU_SCHED_CORES];
	u32 waiting;
	u32 jobs;
	u32 slice;
};

/**
 * struct rknpu_sched_job - one job, embedded in the driver's job
 * @entry: entry in &rknpu_sched.jobs from enqueue until done or removed
 * @node: entry in its client's queue while it waits
 * @client: who pays for it
 * @seq: arrival number, kept over a requeue
 * @charged: clock units paid in advance, settled when the job ends
 * @used_ns: core time used so far, summed over its cores
 * @space: address space it runs in, not NULL; only compared
 * @wanted: core mask asked for, 0 = any one core of @allowed
 * @allowed: cores it may run on; all unless the caller narrows it after init
 * @mask: cores it was given, 0 while it waits
 * @busy: cores of @mask that have not finished yet
 * @cost: estimated work per core (number of tasks)
 * @bypassed: later jobs that started on its cores while it waited
 * @priority: larger goes first
 */
struct rknpu_sched_job {
	struct list_head entry;
	struct list_head node;
	struct rknpu_sched_client *client;
	u64 seq;
	u64 charged;
	u64 used_ns;
	const void *space;
	u32 wanted;
	u32 allowed;
	u32 mask;
	u32 busy;
	u32 cost;
	u32 bypassed;
	s32 priority;
};

/**
 * struct rknpu_sched - the policy state of one NPU
 * @jobs: all jobs, waiting and running, in order of arrival
 * @active: clients that have a job
 * @running: the job on each core, or NULL
 * @reserver: job whose cores are being kept free, or NULL
 * @space: address space last used on each core
 * @group: for each core, all cores that share its IOMMU, itself included
 * @floor: clock that a client returning from idle starts at, at least
 * @next_seq: next arrival number
 * @load: waiting work that asked for each core by name
 * @present: cores that exist
 * @disabled: cores that must not get a job for now (reset, power)
 * @busy: cores that have a job
 * @queued: number of waiting jobs
 */
struct rknpu_sched {
	struct list_head jobs;
	struct list_head active;
	struct rknpu_sched_job *running[RKNPU_SCHED_CORES];
	struct rknpu_sched_job *reserver;
	const void *space[RKNPU_SCHED_CORES];
	u32 group[RKNPU_SCHED_CORES];
	u64 floor;
	u64 next_seq;
	u64 load[RKNPU_SCHED_CORES];
	u32 present;
	u32 disabled;
	u32 busy;
	u32 queued;
};

/* Walk all jobs in order of arrival; the _safe form may remove the current one. */
#define rknpu_sched_for_each_job(job, sched) \
	list_for_each_entry(job, &(sched)->jobs, entry)
#define rknpu_sched_for_each_job_safe(job, next, sched) \
	list_for_each_entry_safe(job, next, &(sched)->jobs, entry)

/* Is there anything to pick? */
static inline bool rknpu_sched_has_waiting(const struct rknpu_sched *sched)
{
	return sched->queued;
}

static inline bool rknpu_sched_is_running(const struct rknpu_sched_job *job)
{
	return job->mask;
}

static inline bool rknpu_sched_is_queued(const struct rknpu_sched_job *job)
{
	return !list_empty(&job->entry) && !job->mask;
}

void rknpu_sched_init(struct rknpu_sched *sched, u32 present, bool shared_iommu);
bool rknpu_sched_mask_valid(const struct rknpu_sched *sched, u32 mask);
void rknpu_sched_set_disabled(struct rknpu_sched *sched, u32 mask);
void rknpu_sched_forget_cores(struct rknpu_sched *sched, u32 mask);
void rknpu_sched_forget_space(struct rknpu_sched *sched, const void *space);

void rknpu_sched_client_init(struct rknpu_sched_client *client, u32 weight);
void rknpu_sched_job_init(struct rknpu_sched_job *job,
			  struct rknpu_sched_client *client, const void *space,
			  u32 wanted, s32 priority, u32 cost);

void rknpu_sched_enqueue(struct rknpu_sched *sched, struct rknpu_sched_job *job);
bool rknpu_sched_start_now(struct rknpu_sched *sched, struct rknpu_sched_job *job);
struct rknpu_sched_job *rknpu_sched_pick(struct rknpu_sched *sched);
bool rknpu_sched_core_done(struct rknpu_sched *sched,
			   struct rknpu_sched_job *job, unsigned int core, u64 ns);
void rknpu_sched_remove(struct rknpu_sched *sched, struct rknpu_sched_job *job, u64 ns);
void rknpu_sched_requeue(struct rknpu_sched *sched, struct rknpu_sched_job *job);

#endif
