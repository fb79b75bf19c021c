// SPDX-License-Identifier: GPL-2.0-only
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_file.h>

#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_power.h"
#include "rknpu_vm.h"

/* Open files so far. */
static atomic_t rknpu_file_ids;

/* Time for the jobs of a file that is closed, as other DRM drivers give it. */
#define RKNPU_CLOSE_GRACE_MS	500

/**
 * rknpu_file_open() - a client opened the device
 * @drm: the DRM device
 * @drm_file: the open file
 *
 * Return: 0 or a negative error code
 */
int rknpu_file_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct rknpu_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	kref_init(&file->ref);
	file->ndev = to_rknpu_device(drm);
	file->id = atomic_inc_return(&rknpu_file_ids);
	file->pid = task_tgid_nr(current);
	get_task_comm(file->comm, current->group_leader);
	mutex_init(&file->lock);
	spin_lock_init(&file->tree_lock);
	file->handles = RB_ROOT;
	INIT_HLIST_HEAD(&file->jobs);
	init_waitqueue_head(&file->idle);
	file->secret = get_random_u64();
	rknpu_sched_client_init(&file->sched, RKNPU_SCHED_WEIGHT);
	drm_file->driver_priv = file;
	return 0;
}

u32 rknpu_file_id(struct drm_file *drm_file)
{
	struct rknpu_file *file = drm_file->driver_priv;

	return file->id;
}

/* Neither the file nor a job needs its address spaces any more. */
static void rknpu_file_drop_vms(struct rknpu_file *file)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(file->vms); i++) {
		if (!file->vms[i])
			continue;
		/* Mappings that nobody frees any more would keep it for good. */
		rknpu_vm_purge(file->vms[i]);
		rknpu_vm_put(file->vms[i]);
	}
}

void rknpu_file_release(struct kref *ref)
{
	struct rknpu_file *file = container_of(ref, struct rknpu_file, ref);

	rknpu_file_drop_vms(file);
	mutex_destroy(&file->lock);
	kfree(file->spare);
	kfree(file);
}

/*
 * Others may wait for fences of jobs that run: they get some time. Not so when
 * the owner was killed, for that is how people get rid of a job that hangs.
 */
static void rknpu_file_end_jobs(struct rknpu_file *file)
{
	bool killed = current->flags & PF_EXITING && current->exit_code & 0x7f;

	if (!killed && rknpu_job_drain_file(file, msecs_to_jiffies(RKNPU_CLOSE_GRACE_MS)))
		return;
	rknpu_job_abort_file(file);
}

void rknpu_file_postclose(struct drm_device *drm, struct drm_file *drm_file)
{
	struct rknpu_file *file = drm_file->driver_priv;

	rknpu_file_end_jobs(file);
	while (file->powered) {
		rknpu_power_put(file->ndev);
		file->powered--;
	}
	rknpu_file_purge(file);
	drm_file->driver_priv = NULL;
	rknpu_file_put(file);
}

/* Called with one of the two locks held. */
static struct rknpu_handle *rknpu_file_find(struct rknpu_file *file, u64 cookie)
{
	struct rb_node *node = file->handles.rb_node;

	while (node) {
		struct rknpu_handle *handle = rb_entry(node, struct rknpu_handle, node);

		if (cookie == handle->bo->cookie)
			return handle;
		node = cookie < handle->bo->cookie ? node->rb_left : node->rb_right;
	}
	return NULL;
}

static struct rknpu_handle *rknpu_file_find_token(struct rknpu_file *file, u64 token)
{
	u64 cookie = token ^ file->secret;

	lockdep_assert_held(&file->tree_lock);

	if (!file->recent || file->recent->bo->cookie != cookie)
		file->recent = rknpu_file_find(file, cookie);
	return file->recent;
}

static void rknpu_file_insert(struct rknpu_file *file, struct rknpu_handle *handle)
{
	struct rb_node **link = &file->handles.rb_node, *parent = NULL;

	lockdep_assert_held(&file->lock);

	while (*link) {
		struct rknpu_handle *other = rb_entry(*link, struct rknpu_handle, node);

		parent = *link;
		if (handle->bo->cookie < other->bo->cookie)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	spin_lock(&file->tree_lock);
	rb_link_node(&handle->node, parent, link);
	rb_insert_color(&handle->node, &file->handles);
	spin_unlock(&file->tree_lock);
	file->bytes += handle->bo->base.size;
	file->sram_bytes += rknpu_sram_block_size(&handle->bo->sram);
}

/**
 * rknpu_file_add_handle() - GEM gives the file a handle for an object
 * @obj: the object
 * @drm_file: the open file
 *
 * Return: 0 or a negative error code
 */
int rknpu_file_add_handle(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct rknpu_file *file = drm_file->driver_priv;
	struct rknpu_gem_object *bo = to_rknpu_gem(obj);
	struct rknpu_handle *handle, *fresh;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh)
		return -ENOMEM;
	fresh->bo = bo;
	fresh->count = 1;
	INIT_LIST_HEAD(&fresh->mappings);

	mutex_lock(&file->lock);
	handle = rknpu_file_find(file, bo->cookie);
	if (handle) {
		handle->count++;
	} else {
		rknpu_file_insert(file, fresh);
		fresh = NULL;
	}
	mutex_unlock(&file->lock);
	kfree(fresh);
	return 0;
}

/* GEM takes a handle away; with the last one the device addresses go. */
void rknpu_file_del_handle(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct rknpu_file *file = drm_file->driver_priv;
	struct rknpu_gem_object *bo = to_rknpu_gem(obj);
	struct rknpu_mapping *mapping, *next;
	struct rknpu_handle *handle;

	mutex_lock(&file->lock);
	handle = rknpu_file_find(file, bo->cookie);
	if (!handle || --handle->count) {
		mutex_unlock(&file->lock);
		return;
	}
	spin_lock(&file->tree_lock);
	rb_erase(&handle->node, &file->handles);
	file->recent = NULL;
	file->closes++;
	file->retiring++;
	file->commands = (struct rknpu_span){};
	spin_unlock(&file->tree_lock);
	file->bytes -= bo->base.size;
	file->sram_bytes -= rknpu_sram_block_size(&bo->sram);
	mutex_unlock(&file->lock);

	list_for_each_entry_safe(mapping, next, &handle->mappings, entry) {
		list_del_init(&mapping->entry);
		rknpu_mapping_retire(mapping);
	}
	spin_lock(&file->tree_lock);
	file->retiring--;
	spin_unlock(&file->tree_lock);
	kfree(handle);
}

/**
 * rknpu_file_token() - the number that stands for an object in the interface
 * @file: the open file
 * @bo: the object
 *
 * It says nothing about the object, and differs from file to file. That it
 * could be 0 is less likely than anything else that may go wrong.
 */
u64 rknpu_file_token(const struct rknpu_file *file, const struct rknpu_gem_object *bo)
{
	return bo->cookie ^ file->secret;
}

/**
 * rknpu_file_lookup() - find an object by its token
 * @file: the open file, which must have a handle for it
 * @token: number from user space
 *
 * Return: the object with a reference, or NULL
 */
struct rknpu_gem_object *rknpu_file_lookup(struct rknpu_file *file, u64 token)
{
	struct rknpu_gem_object *bo = NULL;
	struct rknpu_handle *handle;

	spin_lock(&file->tree_lock);
	handle = rknpu_file_find_token(file, token);
	if (handle) {
		bo = handle->bo;
		drm_gem_object_get(&bo->base);
	}
	spin_unlock(&file->tree_lock);
	return bo;
}

/**
 * rknpu_file_lookup_job() - find what a submit names
 * @file: the open file
 * @token: number from user space for the object with the tasks
 * @domain: number of the address space, in range
 * @job: where the result goes: the tasks, with a reference, the address space,
 *	and where commands were found before
 *
 * Return: true, or false if one of them does not exist
 */
bool rknpu_file_lookup_job(struct rknpu_file *file, u64 token, u32 domain, struct rknpu_job *job)
{
	struct rknpu_handle *handle;
	struct rknpu_vm *vm;

	spin_lock(&file->tree_lock);
	handle = rknpu_file_find_token(file, token);
	vm = file->vms[domain];
	if (handle && vm) {
		job->tasks = handle->bo;
		drm_gem_object_get(&handle->bo->base);
		job->vm = vm;
		job->closes = file->closes;
		if (file->commands.vm == vm)
			job->commands = file->commands;
	}
	spin_unlock(&file->tree_lock);
	return job->vm;
}

/**
 * rknpu_file_remember() - commands were found in @job->commands
 * @file: the open file
 * @job: a job that was looked up before that
 *
 * Objects of a shared space go without the file being told.
 */
void rknpu_file_remember(struct rknpu_file *file, const struct rknpu_job *job)
{
	if (job->vm->shared)
		return;
	spin_lock(&file->tree_lock);
	if (file->closes == job->closes && !file->retiring)
		file->commands = job->commands;
	spin_unlock(&file->tree_lock);
}

static struct rknpu_vm *rknpu_file_make_vm(struct rknpu_file *file, u32 domain)
{
	struct rknpu_vm *vm = file->vms[domain];

	lockdep_assert_held(&file->lock);

	if (vm)
		return vm;
	vm = rknpu_vm_open(file->ndev, domain);
	if (IS_ERR(vm))
		return vm;
	/* It stays until the last job of the file has ended. */
	spin_lock(&file->tree_lock);
	file->vms[domain] = vm;
	spin_unlock(&file->tree_lock);
	return vm;
}

static struct rknpu_mapping *rknpu_handle_map(struct rknpu_handle *handle, struct rknpu_vm *vm)
{
	struct rknpu_mapping *mapping;

	list_for_each_entry(mapping, &handle->mappings, entry) {
		if (mapping->vm == vm)
			return mapping;
	}
	mapping = rknpu_mapping_create(vm, handle->bo);
	if (!IS_ERR(mapping))
		list_add_tail(&mapping->entry, &handle->mappings);
	return mapping;
}

/**
 * rknpu_file_map() - device address of an object
 * @file: the open file
 * @bo: the object
 * @domain: number of the address space, in range
 * @addr: the result
 *
 * Return: 0 or a negative error code; -EINVAL if the handle was closed meanwhile
 */
int rknpu_file_map(struct rknpu_file *file, struct rknpu_gem_object *bo, s32 domain, u64 *addr)
{
	struct rknpu_mapping *mapping = ERR_PTR(-EINVAL);
	struct rknpu_handle *handle;
	struct rknpu_vm *vm;

	mutex_lock(&file->lock);
	handle = rknpu_file_find(file, bo->cookie);
	if (handle) {
		vm = rknpu_file_make_vm(file, domain);
		mapping = IS_ERR(vm) ? ERR_CAST(vm) : rknpu_handle_map(handle, vm);
	}
	if (!IS_ERR(mapping))
		*addr = mapping->node.start;
	mutex_unlock(&file->lock);
	return PTR_ERR_OR_ZERO(mapping);
}

/* Address space @domain with a reference, or NULL if nothing was ever put there. */
struct rknpu_vm *rknpu_file_get_vm(struct rknpu_file *file, u32 domain)
{
	struct rknpu_vm *vm;

	mutex_lock(&file->lock);
	vm = file->vms[domain];
	if (vm)
		rknpu_vm_get(vm);
	mutex_unlock(&file->lock);
	return vm;
}

/* Memory is short: give back what is only kept because it is cheaper. */
void rknpu_file_purge(struct rknpu_file *file)
{
	struct rknpu_vm *vm;
	u32 i;

	for (i = 0; i < RKNPU_MAX_IOMMU_DOMAIN_NUM; i++) {
		vm = rknpu_file_get_vm(file, i);
		if (!vm)
			continue;
		rknpu_vm_purge(vm);
		rknpu_vm_put(vm);
	}
}
