// SPDX-License-Identifier: GPL-2.0-only
#include <linux/limits.h>

#include "rknpu_sched.h"

/**
 * DOC: Scheduling policy
 *
 * Nothing here takes a lock, allocates, reads a clock or touches hardware. The
 * caller serialises all calls on one &struct rknpu_sched, its clients and jobs.
 *
 * - Priority first, strictly: a stream of urgent jobs can hold back all others.
 * - Inside a priority the client with the least weighted hardware time goes
 *   first. A start is paid for with the time of the client's previous job, and
 *   settled at the end, so that many short bursts cannot outrun the books. A
 *   client that comes back from idle has its clock raised to the smallest clock
 *   in use, less one job: idle time is not saved up, and past use is not held
 *   against anyone.
 * - Inside one client and priority, jobs that can share a core keep their order.
 * - A job for any core is placed when it starts, not when it arrives: on the
 *   free core with the least named work waiting, the lowest index on ties.
 * - A job for several cores (a gang) starts when all of them are free at once.
 * - Cores behind one IOMMU run one address space at a time: a job of another
 *   space starts when all of them are idle.
 * - Others may use the cores such a job waits for, but after
 *   RKNPU_SCHED_BYPASS_MAX jobs that it stood in front of, they are kept free
 *   for it until it starts. Only one job reserves at a time, and only until the
 *   jobs now running there end. Higher priorities are let through.
 *
 * The outcome depends on the order of the calls and their arguments only.
 */

static u32 rknpu_sched_footprint(const struct rknpu_sched *sched,
				 const struct rknpu_sched_job *job)
{
	return job->wanted ? job->wanted : sched->present & job->allowed;
}

/* True if @a goes first, given that both could start. A strict order at any moment. */
static bool rknpu_sched_before(const struct rknpu_sched_job *a,
			       const struct rknpu_sched_job *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->client->clock != b->client->clock)
		return a->client->clock < b->client->clock;
	return a->seq < b->seq;
}

/* The first mask from @mask on for which a job of @client waits, or one behind all. */
static u32 rknpu_sched_next_mask(const struct rknpu_sched_client *client, u32 mask)
{
	while (client->waiting >> mask && !(client->waiting & BIT(mask)))
		mask++;
	return mask;
}

#define rknpu_sched_for_each_mask(mask, client)				\
	for ((mask) = rknpu_sched_next_mask(client, 0);			\
	     (client)->waiting >> (mask);				\
	     (mask) = rknpu_sched_next_mask(client, (mask) + 1))

static struct rknpu_sched_job *
rknpu_sched_head(struct rknpu_sched_client *client, u32 mask)
{
	return list_first_entry_or_null(&client->queue[mask],
					struct rknpu_sched_job, node);
}

/* Cores that earlier waiting jobs of the same client may need. */
static u32 rknpu_sched_held(const struct rknpu_sched *sched,
			    const struct rknpu_sched_job *job)
{
	u32 held = 0, mask;

	rknpu_sched_for_each_mask(mask, job->client) {
		const struct rknpu_sched_job *head =
			rknpu_sched_head(job->client, mask);

		if (head != job && rknpu_sched_before(head, job))
			held |= rknpu_sched_footprint(sched, head);
	}
	return held;
}

/* Cores on which the address space of @job may be used now. */
static u32 rknpu_sched_reachable(const struct rknpu_sched *sched,
				 const struct rknpu_sched_job *job)
{
	unsigned int core;
	u32 cores = 0;

	if (!sched->busy)
		return sched->present;
	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (sched->space[core] == job->space ||
		    !(sched->group[core] & sched->busy))
			cores |= BIT(core);
	}
	return cores;
}

/* Cores that must all be idle for @job to start; 0 if any free core will do. */
static u32 rknpu_sched_claim(const struct rknpu_sched *sched,
			     const struct rknpu_sched_job *job)
{
	u32 cores = job->wanted;
	unsigned int core;

	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (!(rknpu_sched_footprint(sched, job) & BIT(core)))
			continue;
		if (sched->space[core] != job->space)
			cores |= sched->group[core];
		else if (!job->wanted)
			return 0;
	}
	return cores;
}

/* Cores kept free for another job that @job must not delay any further. */
static u32 rknpu_sched_reserved(const struct rknpu_sched *sched,
				const struct rknpu_sched_job *job)
{
	const struct rknpu_sched_job *first = sched->reserver;

	if (!first || first == job || first->priority < job->priority)
		return 0;
	/* It may itself wait for an earlier job of its client. */
	if (first->client == job->client && rknpu_sched_before(job, first))
		return 0;
	/* While one of its cores is out of order, waiting for it helps nobody. */
	return first->wanted & sched->disabled ? 0 : rknpu_sched_claim(sched, first);
}

static u32 rknpu_sched_least_loaded(const struct rknpu_sched *sched, u32 free)
{
	unsigned int core, best = RKNPU_SCHED_CORES;

	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (!(free & BIT(core)))
			continue;
		if (best == RKNPU_SCHED_CORES || sched->load[core] < sched->load[best])
			best = core;
	}
	return best < RKNPU_SCHED_CORES ? BIT(best) : 0;
}

/* Cores on which @job could start now, or 0. */
static u32 rknpu_sched_place(const struct rknpu_sched *sched,
			     const struct rknpu_sched_job *job)
{
	u32 free = sched->present & ~sched->disabled & ~sched->busy;

	free &= rknpu_sched_reachable(sched, job);
	/* Alone, it need not care for others; it may count as waiting itself. */
	if (sched->queued > 1)
		free &= ~rknpu_sched_held(sched, job) & ~rknpu_sched_reserved(sched, job);
	if (!job->wanted)
		return rknpu_sched_least_loaded(sched, free & job->allowed);
	return job->wanted & ~free ? 0 : job->wanted;
}

/* True if @first wants to start before @job, but has to let it use @cores. */
static bool rknpu_sched_overtaken(const struct rknpu_sched *sched,
				  const struct rknpu_sched_job *first,
				  const struct rknpu_sched_job *job, u32 cores)
{
	return first != job && rknpu_sched_before(first, job) &&
	       (rknpu_sched_claim(sched, first) & cores) &&
	       !(rknpu_sched_held(sched, first) & rknpu_sched_footprint(sched, first));
}

/* @job is about to start on @cores: note every job that it overtakes there. */
static void rknpu_sched_note_bypass(struct rknpu_sched *sched,
				    const struct rknpu_sched_job *job, u32 cores)
{
	struct rknpu_sched_client *client;
	struct rknpu_sched_job *first;
	u32 mask;

	/* It still counts as waiting itself. */
	if (sched->queued == 1)
		return;
	list_for_each_entry(client, &sched->active, node) {
		rknpu_sched_for_each_mask(mask, client) {
			first = rknpu_sched_head(client, mask);
			if (!rknpu_sched_overtaken(sched, first, job, cores))
				continue;
			if (++first->bypassed < RKNPU_SCHED_BYPASS_MAX)
				continue;
			if (!sched->reserver ||
			    sched->reserver->priority < first->priority)
				sched->reserver = first;
		}
	}
}

static void rknpu_sched_account_load(struct rknpu_sched *sched,
				     const struct rknpu_sched_job *job, bool add)
{
	unsigned int core;

	for (core = 0; job->wanted >> core; core++) {
		if (!(job->wanted & BIT(core)))
			continue;
		if (add)
			sched->load[core] += job->cost;
		else
			sched->load[core] -= job->cost;
	}
}

/* Put @job into its client's queue, where its priority and arrival number say. */
static void rknpu_sched_insert(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	struct list_head *queue = &job->client->queue[job->wanted];
	struct rknpu_sched_job *pos;

	list_for_each_entry_reverse(pos, queue, node) {
		if (rknpu_sched_before(pos, job))
			break;
	}
	/* With no earlier job found, &pos->node is the queue head itself. */
	list_add(&job->node, &pos->node);
	sched->queued++;
	job->client->waiting |= BIT(job->wanted);
	rknpu_sched_account_load(sched, job, true);
}

static void rknpu_sched_unqueue(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	list_del_init(&job->node);
	sched->queued--;
	if (list_empty(&job->client->queue[job->wanted]))
		job->client->waiting &= ~BIT(job->wanted);
	rknpu_sched_account_load(sched, job, false);
	if (sched->reserver == job)
		sched->reserver = NULL;
}

/*
 * The client gets its first job after being idle. Blocking clients are idle
 * between any two jobs, so a client may fall one job behind the others without
 * losing its claim to that time.
 */
static void rknpu_sched_activate(struct rknpu_sched *sched,
				 struct rknpu_sched_client *client)
{
	u64 credit = client->last_ns * client->slice;
	struct rknpu_sched_client *pos;
	u64 least = U64_MAX;

	list_for_each_entry(pos, &sched->active, node) {
		if (pos->clock < least)
			least = pos->clock;
	}
	if (least != U64_MAX && least > sched->floor)
		sched->floor = least;
	if (client->clock + credit < sched->floor)
		client->clock = sched->floor - credit;
	list_add_tail(&client->node, &sched->active);
}

/* @job ended or was taken back: drop it from the books. */
static void rknpu_sched_leave(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	struct rknpu_sched_client *client = job->client;

	list_del_init(&job->entry);
	if (--client->jobs)
		return;
	list_del_init(&client->node);
	if (list_empty(&sched->active) && sched->floor < client->clock)
		sched->floor = client->clock;
}

/* @job is new: enter it into the books. */
static void rknpu_sched_enter(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	if (!job->client->jobs++)
		rknpu_sched_activate(sched, job->client);
	job->seq = sched->next_seq++;
	list_add_tail(&job->entry, &sched->jobs);
}

/* @job waits no longer, and gets @cores. */
static void rknpu_sched_start(struct rknpu_sched *sched,
			      struct rknpu_sched_job *job, u32 cores)
{
	struct rknpu_sched_client *client = job->client;
	unsigned int core;

	job->mask = cores;
	job->busy = cores;
	job->used_ns = 0;
	job->charged = client->last_ns * client->slice;
	client->clock += job->charged;
	sched->busy |= cores;
	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (cores & BIT(core))
			sched->running[core] = job;
		if (cores & sched->group[core])
			sched->space[core] = job->space;
	}
}

static void rknpu_sched_release_core(struct rknpu_sched *sched,
				     struct rknpu_sched_job *job, unsigned int core)
{
	sched->running[core] = NULL;
	sched->busy &= ~BIT(core);
	job->busy &= ~BIT(core);
}

/* Replace the guess paid at the start by what @job really used. */
static void rknpu_sched_settle(struct rknpu_sched_job *job)
{
	struct rknpu_sched_client *client = job->client;

	client->last_ns = job->used_ns;
	client->clock += job->used_ns * client->slice - job->charged;
	job->charged = 0;
	job->mask = 0;
}

/**
 * rknpu_sched_init() - prepare an empty scheduler
 * @sched: the scheduler
 * @present: cores that exist, at least one, all below RKNPU_SCHED_CORES
 * @shared_iommu: one IOMMU serves all cores, instead of one for each
 */
void rknpu_sched_init(struct rknpu_sched *sched, u32 present, bool shared_iommu)
{
	unsigned int core;

	*sched = (struct rknpu_sched){ .present = present };
	INIT_LIST_HEAD(&sched->jobs);
	INIT_LIST_HEAD(&sched->active);
	for (core = 0; core < RKNPU_SCHED_CORES; core++)
		sched->group[core] = shared_iommu ? present : BIT(core);
}

/**
 * rknpu_sched_mask_valid() - may a job ask for this core mask?
 * @sched: the scheduler
 * @mask: the mask from user space, 0 = AUTO
 *
 * A disabled core is still a valid wish: the job waits until it is back.
 */
bool rknpu_sched_mask_valid(const struct rknpu_sched *sched, u32 mask)
{
	return !(mask & ~sched->present);
}

/**
 * rknpu_sched_set_disabled() - take cores out of use or give them back
 * @sched: the scheduler
 * @mask: all cores that must not get a new job from now on
 *
 * Running jobs are not touched. Pick again after giving a core back.
 */
void rknpu_sched_set_disabled(struct rknpu_sched *sched, u32 mask)
{
	sched->disabled = mask;
}

/**
 * rknpu_sched_forget_cores() - the IOMMU of these cores lost its setting
 * @sched: the scheduler
 * @mask: the cores, after a reset or a power cycle
 *
 * The next job there starts only when all cores behind that IOMMU are idle.
 */
void rknpu_sched_forget_cores(struct rknpu_sched *sched, u32 mask)
{
	unsigned int core;

	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (mask & sched->group[core])
			sched->space[core] = NULL;
	}
}

/**
 * rknpu_sched_forget_space() - an address space goes away
 * @sched: the scheduler
 * @space: the space, without jobs; a later one may get the same address
 */
void rknpu_sched_forget_space(struct rknpu_sched *sched, const void *space)
{
	unsigned int core;

	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (sched->space[core] == space)
			sched->space[core] = NULL;
	}
}

/**
 * rknpu_sched_client_init() - prepare the client of a newly opened file
 * @client: the client
 * @weight: its share, RKNPU_SCHED_WEIGHT unless there is a reason; clamped to
 *          1 .. RKNPU_SCHED_WEIGHT_MAX
 *
 * There is no counterpart: a client without jobs is on no list.
 */
void rknpu_sched_client_init(struct rknpu_sched_client *client, u32 weight)
{
	u32 mask;

	if (weight < 1)
		weight = 1;
	if (weight > RKNPU_SCHED_WEIGHT_MAX)
		weight = RKNPU_SCHED_WEIGHT_MAX;
	*client = (struct rknpu_sched_client){
		.slice = RKNPU_SCHED_WEIGHT_MAX / weight,
	};
	INIT_LIST_HEAD(&client->node);
	for (mask = 0; mask < RKNPU_SCHED_MASKS; mask++)
		INIT_LIST_HEAD(&client->queue[mask]);
}

/**
 * rknpu_sched_job_init() - prepare a job; it is on no list yet
 * @job: the job
 * @client: its client, which must outlive it
 * @space: the address space of its buffers; without an IOMMU, one for all
 * @wanted: core mask that passed rknpu_sched_mask_valid()
 * @priority: larger goes first, any value
 * @cost: estimated work per core, the number of tasks
 */
void rknpu_sched_job_init(struct rknpu_sched_job *job,
			  struct rknpu_sched_client *client, const void *space,
			  u32 wanted, s32 priority, u32 cost)
{
	INIT_LIST_HEAD(&job->entry);
	INIT_LIST_HEAD(&job->node);
	job->client = client;
	job->seq = 0;
	job->charged = 0;
	job->used_ns = 0;
	job->space = space;
	job->wanted = wanted;
	job->allowed = RKNPU_SCHED_MASKS - 1;
	job->mask = 0;
	job->busy = 0;
	job->cost = cost;
	job->bypassed = 0;
	job->priority = priority;
}

/**
 * rknpu_sched_enqueue() - a new job is ready to run
 * @sched: the scheduler
 * @job: an initialised job that is not enqueued
 */
void rknpu_sched_enqueue(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	rknpu_sched_enter(sched, job);
	rknpu_sched_insert(sched, job);
}

/**
 * rknpu_sched_start_now() - start a new job at once, if there is nothing to choose
 * @sched: the scheduler
 * @job: an initialised job that is not enqueued
 *
 * The same as rknpu_sched_enqueue() and rknpu_sched_pick() when no other job
 * waits, without a way through the queue.
 *
 * Return: true if the job has its cores; else it is still not enqueued
 */
bool rknpu_sched_start_now(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	u32 cores = sched->queued ? 0 : rknpu_sched_place(sched, job);

	if (!cores)
		return false;
	rknpu_sched_enter(sched, job);
	rknpu_sched_start(sched, job, cores);
	return true;
}

/**
 * rknpu_sched_pick() - start the next job
 * @sched: the scheduler
 *
 * Call it until it returns NULL, whenever a job was added or a core came free.
 * Costs one look at each active client, however many jobs wait.
 *
 * Return: the job, its cores in @mask now taken by it, or NULL. Where the IOMMU
 * has another space attached, its cores are idle and it may be switched.
 */
struct rknpu_sched_job *rknpu_sched_pick(struct rknpu_sched *sched)
{
	struct rknpu_sched_job *job, *best = NULL;
	struct rknpu_sched_client *client;
	u32 cores, best_cores = 0, mask;

	if (!sched->queued || !(sched->present & ~sched->disabled & ~sched->busy))
		return NULL;

	list_for_each_entry(client, &sched->active, node) {
		rknpu_sched_for_each_mask(mask, client) {
			job = rknpu_sched_head(client, mask);
			if (best && rknpu_sched_before(best, job))
				continue;
			cores = rknpu_sched_place(sched, job);
			if (!cores)
				continue;
			best = job;
			best_cores = cores;
		}
	}
	if (best) {
		rknpu_sched_note_bypass(sched, best, best_cores);
		rknpu_sched_unqueue(sched, best);
		rknpu_sched_start(sched, best, best_cores);
	}
	return best;
}

/**
 * rknpu_sched_core_done() - one core finished its part of a job
 * @sched: the scheduler
 * @job: the job running on it
 * @core: the core, free from now on
 * @ns: hardware time the job spent on this core
 *
 * Return: true if it was the last core; the job is then on no list.
 */
bool rknpu_sched_core_done(struct rknpu_sched *sched,
			   struct rknpu_sched_job *job, unsigned int core, u64 ns)
{
	if (!(job->busy & BIT(core)))
		return false;

	rknpu_sched_release_core(sched, job, core);
	job->client->busy_ns[core] += ns;
	job->used_ns += ns;
	if (job->busy)
		return false;
	rknpu_sched_settle(job);
	rknpu_sched_leave(sched, job);
	return true;
}

/**
 * rknpu_sched_remove() - forget a job, whether it waits or runs
 * @sched: the scheduler
 * @job: the job; nothing happens if it is not enqueued
 * @ns: hardware time charged for each core it still holds
 *
 * Cores it held are free afterwards: disable them first if they need a reset.
 */
void rknpu_sched_remove(struct rknpu_sched *sched, struct rknpu_sched_job *job, u64 ns)
{
	unsigned int core;

	if (rknpu_sched_is_queued(job)) {
		rknpu_sched_unqueue(sched, job);
		rknpu_sched_leave(sched, job);
		return;
	}
	for (core = 0; core < RKNPU_SCHED_CORES; core++)
		rknpu_sched_core_done(sched, job, core, ns);
}

/**
 * rknpu_sched_requeue() - an innocent job lost its cores; let it start afresh
 * @sched: the scheduler
 * @job: a running job
 *
 * It keeps its place in the order, pays nothing for the attempt, and runs on
 * all its cores again, also on those that had finished.
 */
void rknpu_sched_requeue(struct rknpu_sched *sched, struct rknpu_sched_job *job)
{
	unsigned int core;

	for (core = 0; core < RKNPU_SCHED_CORES; core++) {
		if (job->busy & BIT(core))
			rknpu_sched_release_core(sched, job, core);
	}
	job->client->clock -= job->charged;
	job->charged = 0;
	job->mask = 0;
	job->used_ns = 0;
	rknpu_sched_insert(sched, job);
}
