/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_FILE_H
#define RKNPU_FILE_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <rknpu_drm.h>

#include "rknpu_sched.h"
#include "rknpu_vm.h"

struct drm_device;
struct drm_file;
struct drm_gem_object;
struct rknpu_device;
struct rknpu_gem_object;
struct rknpu_job;

/* Jobs of a file that have not ended: far more than any program has in flight. */
#define RKNPU_FILE_JOBS_MAX	1024

/**
 * struct rknpu_handle - what an open file knows of an object
 * @node: entry in &rknpu_file.handles, ordered by &rknpu_gem_object.cookie
 * @bo: the object; not referenced, the GEM handle does that
 * @count: GEM handles of the file for the object
 * @mappings: its device addresses, at most one per address space
 */
struct rknpu_handle {
	struct rb_node node;
	struct rknpu_gem_object *bo;
	unsigned int count;
	struct list_head mappings;
};

/**
 * struct rknpu_file - an open file
 * @ref: one reference for the open file and for each job
 * @ndev: the NPU
 * @id: its number, for people
 * @pid: process that opened it, for people
 * @comm: its name
 * @sched: its share of the cores; protected by &rknpu_device.job_lock
 * @jobs: jobs submitted and not ended; protected by &rknpu_device.job_lock
 * @num_jobs: number of @jobs; protected by &rknpu_device.job_lock
 * @jobs_done: jobs that ended; protected by &rknpu_device.job_lock
 * @closing: somebody waits at @idle; protected by &rknpu_device.job_lock
 * @idle: woken when @jobs runs empty while @closing
 * @spare: an ended job to be used again, or NULL
 * @secret: makes its tokens differ from those of other files
 * @tree_lock: protects @handles, @recent, @closes, @retiring and @commands, so that they
 *	can be read without @lock, and the same for @vms; taken inside of it
 * @lock: protects all members below, and makes the changes to those above
 * @handles: the objects it has handles for
 * @recent: one of them that was looked up, or NULL: programs name the same one
 *	several times in a row
 * @closes: number of objects whose last handle was closed
 * @retiring: number of objects whose device addresses are going just now
 * @commands: an object that the commands of a job lay in, so that nobody need
 *	look for it again; forgotten when an object goes
 * @vms: its address spaces, made when first used
 * @domain_id: address space selected by action
 * @powered: power references taken by action
 * @bytes: memory of the objects it has handles for
 * @sram_bytes: part of @bytes in on-chip memory
 */
struct rknpu_file {
	struct kref ref;
	struct rknpu_device *ndev;
	u32 id;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct rknpu_sched_client sched;
	struct hlist_head jobs;
	unsigned int num_jobs;
	u64 jobs_done;
	bool closing;
	wait_queue_head_t idle;
	struct rknpu_job *spare;
	u64 secret;
	spinlock_t tree_lock; /* for those who only read */
	struct mutex lock; /* protects all members below */
	struct rb_root handles;
	struct rknpu_handle *recent;
	u64 closes;
	unsigned int retiring;
	struct rknpu_span commands;
	struct rknpu_vm *vms[RKNPU_MAX_IOMMU_DOMAIN_NUM];
	u32 domain_id;
	unsigned int powered;
	u64 bytes;
	u64 sram_bytes;
};

int rknpu_file_open(struct drm_device *drm, struct drm_file *drm_file);
void rknpu_file_postclose(struct drm_device *drm, struct drm_file *drm_file);
u32 rknpu_file_id(struct drm_file *drm_file);
void rknpu_file_release(struct kref *ref);

static inline struct rknpu_file *rknpu_file_get(struct rknpu_file *file)
{
	kref_get(&file->ref);
	return file;
}

static inline void rknpu_file_put(struct rknpu_file *file)
{
	kref_put(&file->ref, rknpu_file_release);
}

int rknpu_file_add_handle(struct drm_gem_object *obj, struct drm_file *drm_file);
void rknpu_file_del_handle(struct drm_gem_object *obj, struct drm_file *drm_file);
u64 rknpu_file_token(const struct rknpu_file *file, const struct rknpu_gem_object *bo);
struct rknpu_gem_object *rknpu_file_lookup(struct rknpu_file *file, u64 token);
bool rknpu_file_lookup_job(struct rknpu_file *file, u64 token, u32 domain, struct rknpu_job *job);
void rknpu_file_remember(struct rknpu_file *file, const struct rknpu_job *job);
int rknpu_file_map(struct rknpu_file *file, struct rknpu_gem_object *bo, s32 domain, u64 *addr);
void rknpu_file_purge(struct rknpu_file *file);
struct rknpu_vm *rknpu_file_get_vm(struct rknpu_file *file, u32 domain);

#endif
