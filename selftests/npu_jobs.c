// SPDX-License-Identifier: MIT
#include "npu_jobs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A command word names its block in bits 63:48 and its register in bits 15:0. */
#define TARGET_PC 0x0101u
#define TARGET_CNA 0x0201u
#define TARGET_CORE 0x0801u
#define TARGET_DPU 0x1001u
#define TARGET_DPU_RDMA 0x2001u
#define TARGET_PPU 0x4001u
#define TARGET_PPU_RDMA 0x8001u
#define WORD_SYNC 0x0041000000000000ull
#define TARGET_ENABLE 0x0081u

#define PC_OPERATION_ENABLE 0x0008u
#define PC_BASE_ADDRESS 0x0010u
#define PC_REGISTER_AMOUNTS 0x0014u

/* Blocks that a task starts. */
#define ENABLE_CONV 0x0du
#define ENABLE_RDMA 0x10u
#define ENABLE_FLYING 0x18u
#define ENABLE_POOL 0x60u

#define TAIL_WORDS 4u
#define STREAM_BYTES 1024u /* room of one task, a multiple of 64 */

#define PIXELS (NPU_SLOT_WIDTH * NPU_SLOT_HEIGHT)

struct reg {
	uint16_t offset;
	uint32_t value;
};

static uint16_t target_of(uint16_t offset)
{
	static const uint16_t targets[] = {
		0, TARGET_CNA, 0, TARGET_CORE, TARGET_DPU, TARGET_DPU_RDMA, TARGET_PPU,
		TARGET_PPU_RDMA,
	};

	return targets[offset >> 12];
}

static uint64_t word(uint16_t target, uint16_t offset, uint32_t value)
{
	return (uint64_t)target << 48 | (uint64_t)value << 16 | offset;
}

static uint64_t *stream_of(struct npu_job *job, unsigned int task)
{
	return (uint64_t *)((char *)job->commands.map + task * STREAM_BYTES);
}

/* What differs between chips, as far as jobs are concerned. */
static const struct dialect {
	const char *chip;
	unsigned int cores;
	unsigned int unit; /* words in one unit of REGISTER_AMOUNTS */
	bool moved;        /* most registers of the blocks lie elsewhere */
} dialects[] = {
	{ "rk3576", 2, 2, true },
	{ "rk3568", 1, 1, false },
	{ "rk3566", 1, 1, false },
	{ "rk3562", 1, 2, false },
	{ "", 3, 2, false },
};

static const struct dialect *dialect(void)
{
	static const struct dialect *found;
	const struct dialect *d = dialects;

	while (!found) {
		if (!d->chip[0] || npu_is_chip(d->chip))
			found = d;
		d++;
	}
	return found;
}

unsigned int npu_job_shares(void)
{
	return dialect()->cores;
}

/* Fetch length in the chip's units, minus one. */
static uint32_t fetch_amount(unsigned int body_words)
{
	const unsigned int unit = dialect()->unit;

	return (body_words + TAIL_WORDS + unit - 1) / unit - 1;
}

static void link_task(struct npu_job *job, unsigned int task, uint64_t next, uint32_t amount)
{
	uint64_t *tail = stream_of(job, task) + npu_job_record(job, task)->regcfg_amount;

	tail[0] = word(TARGET_PC, PC_BASE_ADDRESS, (uint32_t)next);
	tail[1] = word(TARGET_PC, PC_REGISTER_AMOUNTS, amount);
}

static void add_task(struct npu_job *job, const struct reg *regs, unsigned int count,
		     uint32_t enable, uint32_t done)
{
	unsigned int task = job->tasks++, i;
	uint64_t address = job->commands.iova + task * STREAM_BYTES;
	uint64_t *out = stream_of(job, task);
	struct rknpu_task record = {
		.op_idx = task,
		.enable_mask = enable,
		.int_mask = done,
		.int_clear = 0x1ffff,
		.regcfg_amount = count,
		.regcmd_addr = address,
	};

	for (i = 0; i < count; i++)
		out[i] = word(target_of(regs[i].offset), regs[i].offset, regs[i].value);
	memcpy(npu_job_record(job, task), &record, sizeof(record));
	link_task(job, task, 0, 0);
	out[count + 2] = WORD_SYNC;
	out[count + 3] = word(TARGET_ENABLE, PC_OPERATION_ENABLE, enable);
	if (task > 0)
		link_task(job, task - 1, address, fetch_amount(count));
}

#define ADD_TASK(job, regs, enable, done) \
	add_task(job, regs, sizeof(regs) / sizeof((regs)[0]), enable, done)

/* Main data from memory, all stages passed by, the output's offset is the addend. */
static void add_offset_rk3576(struct npu_job *job, uint64_t from, uint64_t to, int addend)
{
	const uint32_t w = NPU_SLOT_WIDTH - 1, h = NPU_SLOT_HEIGHT - 1;
	const struct reg regs[] = {
		{ 0x4004, 0xe },	  { 0x400c, 5 },	   { 0x4010, 0 },
		{ 0x4018, (uint32_t)to }, { 0x401c, PIXELS },	   { 0x4028, 0 },
		{ 0x402c, 15 },		  { 0x4030, 15 << 16 },	   { 0x4034, h << 16 | w },
		{ 0x4038, 0x53 },	  { 0x4050, 0x20000 },	   { 0x4060, 0x903 },
		{ 0x407c, 0x10041c1 },	  { 0x4080, 0 },	   { 0x4084, 0 },
		{ 0x4088, 0x80000000 },	  { 0x40ac, (uint32_t)addend },
		{ 0x40b0, 1 },		  { 0x40b4, 0 },	   { 0x40b8, 0 },
		{ 0x5004, 0xe },	  { 0x500c, w },	   { 0x5010, h },
		{ 0x5014, 15 },		  { 0x5018, (uint32_t)from }, { 0x501c, 0 },
		{ 0x5034, 0x41 },	  { 0x504c, 0 },	   { 0x5078, 0 },
	};

	ADD_TASK(job, regs, ENABLE_FLYING, NPU_DONE_DPU);
}

/* Main data from memory, BS stage adds an immediate, the rest is passed by. */
void npu_job_add_offset_raw(struct npu_job *job, uint64_t from, uint64_t to, int addend)
{
	const uint32_t w = NPU_SLOT_WIDTH - 1, h = NPU_SLOT_HEIGHT - 1;
	const struct reg regs[] = {
		{ 0x4004, 0xe },	  { 0x400c, 0x1e5 },	   { 0x4010, 0 },
		{ 0x4014, 0 },		  { 0x4020, (uint32_t)to }, { 0x4024, NPU_SLOT },
		{ 0x4030, w },		  { 0x4034, h },	   { 0x4038, 0 },
		{ 0x403c, 15 << 16 | 15 }, { 0x4040, 0x20050 },	   { 0x4044, (uint32_t)addend },
		{ 0x4048, 0 },		  { 0x404c, 0 },	   { 0x4050, 2 },
		{ 0x4054, 0 },		  { 0x4058, 15 },	   { 0x405c, h << 16 | w },
		{ 0x4060, 0x53 },	  { 0x4064, 0 },	   { 0x4068, 0 },
		{ 0x406c, 0 },		  { 0x4070, 0x383 },	   { 0x4074, 0 },
		{ 0x4078, 1 },		  { 0x407c, 0 },	   { 0x4080, 0 },
		{ 0x4084, 1 },		  { 0x4088, 0 },	   { 0x40c0, NPU_SLOT },
		{ 0x5004, 0xe },	  { 0x500c, w },	   { 0x5010, h },
		{ 0x5014, 15 },		  { 0x5018, (uint32_t)from }, { 0x501c, 0 },
		{ 0x5028, 0 },		  { 0x5034, 1 },	   { 0x5044, 0x7801 },
		{ 0x5048, 0 },		  { 0x504c, 0 },	   { 0x5064, 0 },
		{ 0x5068, 0x01010101 },	  { 0x506c, 0 },
	};

	if (dialect()->moved)
		add_offset_rk3576(job, from, to, addend);
	else
		ADD_TASK(job, regs, ENABLE_FLYING, NPU_DONE_DPU);
}

static uint32_t slot_iova(const struct npu_job *job, unsigned int slot)
{
	return (uint32_t)(job->data.iova + slot * NPU_SLOT);
}

void npu_job_add_offset(struct npu_job *job, unsigned int from, unsigned int to, int addend)
{
	npu_job_add_offset_raw(job, slot_iova(job, from), slot_iova(job, to), addend);
}

static void add_conv_rk3576(struct npu_job *job, unsigned int from, unsigned int weights,
			    unsigned int to)
{
	const uint32_t w = NPU_SLOT_WIDTH - 1, h = NPU_SLOT_HEIGHT - 1;
	const struct reg regs[] = {
		{ 0x1004, 0xe },	  { 0x100c, 1u << 29 },	   { 0x1014, 1 << 3 | 1 },
		{ 0x101c, 32 * 16 },	  { 0x1024, 31 },	   { 0x102c, w << 16 | h },
		{ 0x1034, PIXELS - 1 },	  { 0x1048, 0xb },	   { 0x1074, 0 },
		{ 0x1078, w << 16 | h },  { 0x107c, 15 },	   { 0x1080, 0 },
		{ 0x1084, 0 },		  { 0x1088, slot_iova(job, from) },
		{ 0x1090, w + 1 },	  { 0x1094, PIXELS },
		{ 0x1110, slot_iova(job, weights) },
		{ 0x3004, 0xe },	  { 0x3018, 0x10000001 },  { 0x301c, h << 16 | w },
		{ 0x3020, 31 },		  { 0x3024, 0 },
		{ 0x4004, 0xe },	  { 0x400c, 0x40000004 },  { 0x4010, 0 },
		{ 0x4018, slot_iova(job, to) },
		{ 0x401c, PIXELS },	  { 0x4028, 0 },	   { 0x402c, 31 },
		{ 0x4030, 31 << 16 },	  { 0x4034, h << 16 | w }, { 0x4038, 0x53 },
		{ 0x4050, 0x21111 },	  { 0x4060, 0x903 },	   { 0x407c, 0x10041c1 },
		{ 0x4080, 0 },		  { 0x4084, 0 },	   { 0x4088, 0x80000000 },
		{ 0x40ac, 0 },		  { 0x40b0, 1 },	   { 0x40b4, 0 },
		{ 0x40b8, PIXELS },
		{ 0x5004, 0xe },	  { 0x500c, w },	   { 0x5010, h },
		{ 0x5014, 31 },		  { 0x501c, 0 },	   { 0x5034, 0x41 },
	};

	ADD_TASK(job, regs, ENABLE_CONV | ENABLE_RDMA, NPU_DONE_DPU);
}

void npu_job_add_conv(struct npu_job *job, unsigned int from, unsigned int weights,
		      unsigned int to)
{
	const uint32_t w = NPU_SLOT_WIDTH, h = NPU_SLOT_HEIGHT;
	const struct reg regs[] = {
		{ 0x1004, 0xe },	  { 0x100c, 1u << 29 },	   { 0x1010, (h + 1) << 4 },
		{ 0x1014, 1 << 3 | 1 },	  { 0x1020, w << 16 | h }, { 0x1024, 15 << 16 | 16 },
		{ 0x1028, w },		  { 0x102c, PIXELS },	   { 0x1030, 32 * 16 },
		{ 0x1034, 16 },		  { 0x1038, 1 << 24 | 1 << 20 | 32 },
		{ 0x1040, 1 << 4 | 11 },  { 0x1044, 1 },	   { 0x104c, 0xb },
		{ 0x1050, 0x10000 },	  { 0x1054, 0x10000 },	   { 0x1058, 0x10000 },
		{ 0x105c, 0x10000 },	  { 0x1060, 0 },	   { 0x1068, 0 },
		{ 0x1070, slot_iova(job, from) },
		{ 0x1078, 0xf000f },	  { 0x107c, w },	   { 0x1080, PIXELS - w },
		{ 0x1084, w << 16 | h },  { 0x1088, 16 },	   { 0x1100, 0 },
		{ 0x1110, slot_iova(job, weights) },
		{ 0x1140, 0 },		  { 0x1180, 0 },	   { 0x1184, 0 },
		{ 0x3004, 0xe },	  { 0x3010, 0 },	   { 0x3014, (h - 1) << 16 | (w - 1) },
		{ 0x3018, 31 },		  { 0x301c, 0 },	   { 0x3030, 0 },
		{ 0x4004, 0xe },	  { 0x400c, 0x1e4 },	   { 0x4010, 0 },
		{ 0x4014, 0 },		  { 0x4020, slot_iova(job, to) },
		{ 0x4024, NPU_SLOT },	  { 0x4030, w - 1 },	   { 0x4034, h - 1 },
		{ 0x4038, 0 },		  { 0x403c, 31 << 16 | 31 }, { 0x4040, 0x53 },
		{ 0x4050, 0x126 },	  { 0x4054, 0 },	   { 0x4058, 31 },
		{ 0x405c, (h - 1) << 16 | (w - 1) },
		{ 0x4060, 0x53 },	  { 0x4070, 0x383 },	   { 0x4080, 0 },
		{ 0x4084, 1 },		  { 0x4088, 0 },	   { 0x40c0, 2 * NPU_SLOT },
	};

	if (dialect()->moved)
		add_conv_rk3576(job, from, weights, to);
	else
		ADD_TASK(job, regs, ENABLE_CONV, NPU_DONE_DPU);
}

bool npu_job_has_pool(void)
{
	return !dialect()->moved;
}

void npu_job_add_pool(struct npu_job *job, unsigned int from, unsigned int to)
{
	const uint32_t w = NPU_SLOT_WIDTH, h = NPU_SLOT_HEIGHT;
	const struct reg regs[] = {
		{ 0x6004, 0xe },	  { 0x600c, w - 1 },	   { 0x6010, h - 1 },
		{ 0x6014, 15 },		  { 0x6018, w / 2 - 1 },   { 0x601c, h / 2 - 1 },
		{ 0x6020, 15 },		  { 0x6024, 0x11 },	   { 0x6034, 0x110101 },
		{ 0x6038, 0 },		  { 0x603c, 0 },	   { 0x6040, 0 },
		{ 0x6044, 0xffffff80 },	  { 0x6048, 7 },	   { 0x6070, slot_iova(job, to) },
		{ 0x607c, NPU_SLOT / 4 }, { 0x6084, NPU_SLOT / 4 }, { 0x60dc, 3 },
		{ 0x7004, 0xe },	  { 0x700c, w - 1 },	   { 0x7010, h - 1 },
		{ 0x7014, 15 },		  { 0x701c, slot_iova(job, from) },
		{ 0x7024, w * 16 },	  { 0x7028, NPU_SLOT },	   { 0x7030, 1 },
	};

	ADD_TASK(job, regs, ENABLE_POOL, NPU_DONE_PPU);
}

void npu_job_cut(struct npu_job *job, unsigned int tasks)
{
	if (tasks == 0) {
		/* No op-enable word at all: the first task never starts. */
		memset(stream_of(job, 0), 0, STREAM_BYTES);
		return;
	}
	link_task(job, tasks - 1, 0, 0);
}

int npu_job_init(struct npu_job *job, int fd, unsigned int max_tasks, unsigned int slots)
{
	int ret;

	memset(job, 0, sizeof(*job));
	job->fd = fd;
	job->slots = slots;
	ret = npu_bo_create(fd, NPU_MEM_DATA, (uint64_t)max_tasks * STREAM_BYTES,
			    &job->commands);
	if (!ret)
		ret = npu_bo_create(fd, NPU_MEM_TASKS,
				    (uint64_t)max_tasks * sizeof(struct rknpu_task),
				    &job->records);
	if (!ret)
		ret = npu_bo_create(fd, NPU_MEM_DATA, (uint64_t)slots * NPU_SLOT, &job->data);
	if (ret)
		npu_job_free(job);
	return ret;
}

void npu_job_free(struct npu_job *job)
{
	npu_bo_destroy(&job->commands);
	npu_bo_destroy(&job->records);
	npu_bo_destroy(&job->data);
}

static void sync_all(const struct npu_bo *bo, uint32_t flags)
{
	npu_bo_sync(bo, flags, 0, bo->size);
}

void npu_job_seal(struct npu_job *job)
{
	sync_all(&job->commands, RKNPU_MEM_SYNC_TO_DEVICE);
	sync_all(&job->records, RKNPU_MEM_SYNC_TO_DEVICE);
	sync_all(&job->data, RKNPU_MEM_SYNC_TO_DEVICE);
}

void npu_job_fetch(struct npu_job *job)
{
	sync_all(&job->data, RKNPU_MEM_SYNC_FROM_DEVICE);
}

int8_t *npu_job_slot(struct npu_job *job, unsigned int slot)
{
	return (int8_t *)job->data.map + slot * NPU_SLOT;
}

struct rknpu_task *npu_job_record(struct npu_job *job, unsigned int task)
{
	return (struct rknpu_task *)job->records.map + task;
}

struct rknpu_submit npu_job_args(const struct npu_job *job, uint32_t core_mask)
{
	struct rknpu_submit args = {
		.flags = RKNPU_JOB_PC | RKNPU_JOB_PINGPONG,
		.timeout = 6000,
		.task_number = npu_job_shares() * job->tasks,
		.task_obj_addr = job->records.token,
		.core_mask = core_mask,
		.fence_fd = -1,
	};
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_SUBCORE_TASKS; i++)
		args.subcore_task[i].task_number = job->tasks;
	return args;
}

int npu_submit(int fd, struct rknpu_submit *args)
{
	return npu_ioctl(fd, DRM_IOCTL_RKNPU_SUBMIT, args);
}

int npu_job_run(struct npu_job *job, uint32_t core_mask)
{
	struct rknpu_submit args = npu_job_args(job, core_mask);

	return npu_submit(job->fd, &args);
}

static int8_t pattern(unsigned int i)
{
	return (int8_t)(i * 7 % 64 - 32);
}

int npu_job_init_hang(struct npu_job *job, int fd)
{
	int ret = npu_job_init(job, fd, 2, 3);

	if (ret)
		return ret;
	npu_job_add_offset(job, 0, 1, 1);
	npu_job_add_offset(job, 1, 2, 1);
	npu_job_cut(job, 1);
	npu_job_seal(job);
	return 0;
}

static int check_chain(struct npu_job *job)
{
	unsigned int slot, i;

	for (slot = 1; slot <= job->tasks; slot++) {
		for (i = 0; i < NPU_SLOT; i++) {
			/* +1, -1, +1 ... stays in range however long the chain is. */
			if (npu_job_slot(job, slot)[i] != pattern(i) + (int)(slot & 1))
				return -EBADMSG;
		}
	}
	return 0;
}

int npu_chain_check(int fd, unsigned int tasks, uint32_t core_mask)
{
	struct npu_job job;
	unsigned int i;
	int ret;

	ret = npu_job_init(&job, fd, tasks, tasks + 1);
	if (ret)
		return ret;
	for (i = 0; i < NPU_SLOT; i++)
		npu_job_slot(&job, 0)[i] = pattern(i);
	for (i = 0; i < tasks; i++)
		npu_job_add_offset(&job, i, i + 1, i & 1 ? -1 : 1);
	npu_job_seal(&job);
	ret = npu_job_run(&job, core_mask);
	npu_job_fetch(&job);
	if (!ret)
		ret = check_chain(&job);
	npu_job_free(&job);
	return ret;
}

int npu_healthy(void)
{
	int fd = npu_open(), cores, core, ret = 0;

	if (fd < 0)
		return fd;
	cores = npu_core_count(fd);
	if (cores < 0)
		ret = cores;
	for (core = 0; core < cores && !ret; core++)
		ret = npu_chain_check(fd, 2, 1u << core);
	close(fd);
	return ret;
}
