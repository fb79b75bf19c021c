// SPDX-License-Identifier: MIT
/*
 * Random requests that know the structures: most members are right, some are
 * borderline, a few are rubbish. Nothing is asserted about a single answer; the
 * kernel must survive, keep to errno values, and work as before afterwards. The
 * emulator watches that no job touches what never was an object of a client.
 *
 * RKNPU_FUZZ_COUNT sets the number of requests, RKNPU_FUZZ_SEED the sequence.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define FILES 3u
#define OBJECTS 24u
#define MAX_LIVE 1000u

struct object {
	uint32_t handle;
	uint64_t token;
	uint64_t iova;
	uint64_t size;
};

struct client {
	int fd;
	unsigned int live;
	struct object seen[MAX_LIVE];
	struct object objects[OBJECTS];
	struct npu_job job;
};

static uint64_t random_state;
static volatile uint32_t *emulator;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(random_u64() >> 33) % limit;
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

static uint64_t nasty(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 7, 8, 15, 16, 40, 4095, 4096, 4097, 0x7fffffff, 0x80000000, 0xfffff000,
		0xffffffff, 0x100000000ull, 0x100001000ull, 0x7fffffffffffffffull,
		0x8000000000000000ull, 0xffffff8000000000ull, 0xfffffffffffff000ull,
		0xffffffffffffffffull,
	};

	return one_in(4) ? random_u64() : values[below(sizeof(values) / sizeof(values[0]))];
}

/* Objects stay listed until their file is closed: the driver may keep them as long. */
static void set_live(uint32_t command, uint64_t iova, uint64_t size)
{
	if (!emulator)
		return;
	emulator[NPU_EMULATOR_LIVE_START] = (uint32_t)iova;
	emulator[NPU_EMULATOR_LIVE_SIZE] = (uint32_t)size;
	emulator[NPU_EMULATOR_LIVE] = command;
}

static void add_live(struct client *client, uint64_t iova, uint64_t size)
{
	if (client->live == MAX_LIVE)
		return;
	client->seen[client->live++] = (struct object){ .iova = iova, .size = size };
	set_live(1, iova, size);
}

static void drop_live(struct client *client)
{
	while (client->live) {
		client->live--;
		set_live(2, client->seen[client->live].iova, client->seen[client->live].size);
	}
}

static struct object *any_object(struct client *client)
{
	return &client->objects[below(OBJECTS)];
}

static void fuzz_create(struct client *client)
{
	struct object *object = any_object(client);
	struct rknpu_mem_create args = {
		.handle = one_in(3) ? any_object(client)->handle : 0,
		.flags = one_in(8) ? (uint32_t)random_u64() : (uint32_t)random_u64() & 0x7ff,
		.size = one_in(6) ? nasty() : below(1 << 18) + 1,
		.sram_size = one_in(3) ? nasty() : 0,
		.iommu_domain_id = one_in(4) ? (int32_t)below(18) : 0,
		.core_mask = one_in(8) ? (uint32_t)nasty() : 0,
	};
	unsigned int size = one_in(4) ? 40 : one_in(10) ? below(64) : 48;
	struct rknpu_mem_destroy old = { .handle = object->handle };

	/* Sizes between 16 MiB and 4 GiB would only exhaust the machine. */
	if (args.size > 16 << 20 && args.size < 1ull << 32)
		args.size &= 0xffffff;
	if (npu_ioctl(client->fd, _IOC(3, DRM_IOCTL_BASE, DRM_COMMAND_BASE + RKNPU_MEM_CREATE, size),
		      &args))
		return;
	if (object->handle && object->handle != args.handle)
		npu_ioctl(client->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &old);
	*object = (struct object){ args.handle, args.obj_addr, args.dma_addr, args.size };
	add_live(client, args.dma_addr, args.size);
}

static void fuzz_destroy(struct client *client)
{
	struct object *object = any_object(client);
	struct rknpu_mem_destroy args = {
		.handle = one_in(8) ? (uint32_t)nasty() : object->handle,
		.obj_addr = nasty(),
	};

	npu_ioctl(client->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &args);
	if (args.handle == object->handle)
		memset(object, 0, sizeof(*object));
}

static void fuzz_map(struct client *client)
{
	struct object *object = any_object(client);
	struct rknpu_mem_map args = {
		.handle = one_in(6) ? (uint32_t)nasty() : object->handle,
		.reserved = (uint32_t)nasty(),
	};
	size_t length = one_in(4) ? below(1 << 20) + 1 : (size_t)object->size;
	volatile uint8_t *map;

	if (npu_ioctl(client->fd, DRM_IOCTL_RKNPU_MEM_MAP, &args) || !length)
		return;
	if (one_in(8))
		args.offset += (uint64_t)below(64) << 12;
	map = mmap64(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, client->fd,
		     (off64_t)args.offset);
	if (map == MAP_FAILED)
		return;
	map[below((uint32_t)length)] += 1;
	munmap((void *)map, length);
}

static void fuzz_sync(struct client *client)
{
	struct object *object = any_object(client);
	struct rknpu_mem_sync args = {
		.flags = one_in(6) ? (uint32_t)nasty() : 1 + below(3),
		.obj_addr = one_in(6) ? nasty() : object->token,
		.offset = one_in(5) ? nasty() : below((uint32_t)object->size + 1),
		.size = one_in(5) ? nasty() : below((uint32_t)object->size + 1),
	};

	npu_ioctl(client->fd, DRM_IOCTL_RKNPU_MEM_SYNC, &args);
}

static void fuzz_action(struct client *client)
{
	uint32_t code = one_in(10) ? (uint32_t)nasty() : below(28), value = (uint32_t)nasty();

	if (code == RKNPU_ACT_RESET && !one_in(20))
		return;
	if (code == RKNPU_SET_PROC_NICE)
		value = below(5);
	npu_action(client->fd, code, &value);
}

static void spoil_records(struct client *client)
{
	struct rknpu_task *record = npu_job_record(&client->job, below(client->job.tasks));
	uint32_t *member = (uint32_t *)record + below(10);

	*member = one_in(2) ? (uint32_t)nasty() : *member ^ 1u << below(32);
}

static void spoil_commands(struct client *client)
{
	uint64_t *words = client->job.commands.map;
	uint32_t count = (uint32_t)(client->job.commands.size / 8);

	words[below(count)] ^= one_in(2) ? 1ull << below(64) : nasty();
}

static void build_job(struct client *client)
{
	unsigned int i;

	client->job.tasks = 0;
	for (i = 0; i < 4; i++)
		npu_job_add_offset(&client->job, i, i + 1, 1);
}

static void fuzz_submit(struct client *client)
{
	struct rknpu_submit args;
	unsigned int i;

	if (one_in(4))
		spoil_records(client);
	if (one_in(4))
		spoil_commands(client);
	args = npu_job_args(&client->job, one_in(6) ? (uint32_t)nasty() : below(8));
	args.timeout = 5 + below(20);
	args.flags = one_in(6) ? (uint32_t)random_u64() : 1 | (below(16) << 1);
	args.fence_fd = one_in(4) ? (int32_t)below(12) : -1;
	if (one_in(6))
		args.task_obj_addr = one_in(2) ? nasty() : any_object(client)->token;
	for (i = 0; i < RKNPU_MAX_SUBCORE_TASKS; i++) {
		if (one_in(10))
			args.subcore_task[i].task_start = (uint32_t)nasty();
		if (one_in(10))
			args.subcore_task[i].task_number = (uint32_t)nasty();
	}
	if (one_in(10))
		args.iommu_domain_id = below(18);
	if (one_in(10))
		args.task_number = (uint32_t)nasty();
	if (one_in(10))
		args.priority = (int32_t)nasty();
	if (npu_ioctl(client->fd, DRM_IOCTL_RKNPU_SUBMIT, &args) == 0 &&
	    (args.flags & RKNPU_JOB_FENCE_OUT) && args.fence_fd > 2)
		close(args.fence_fd);
	if (one_in(3))
		build_job(client);
}

static void fuzz_prime(struct client *from, struct client *to)
{
	int dmabuf = npu_export(from->fd, any_object(from)->handle);
	struct object *object = any_object(to);
	struct rknpu_mem_create info = { 0 };
	struct rknpu_mem_destroy old = { .handle = object->handle };

	if (dmabuf < 0)
		return;
	if (npu_import(to->fd, dmabuf, &info.handle) == 0 &&
	    npu_ioctl(to->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &info) == 0 &&
	    info.handle != object->handle) {
		if (old.handle)
			npu_ioctl(to->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &old);
		*object = (struct object){ info.handle, info.obj_addr, info.dma_addr, info.size };
		add_live(to, info.dma_addr, info.size);
	}
	close(dmabuf);
}

/* Any number, any size: only the canary matters. */
static void fuzz_raw(struct client *client)
{
	unsigned int number = below(0x60), i;
	uint64_t buffer[20];

	/* It could make an object that we lose sight of. */
	if (number == RKNPU_MEM_CREATE)
		return;
	for (i = 0; i < 20; i++)
		buffer[i] = nasty();
	npu_ioctl(client->fd,
		  _IOC(3, DRM_IOCTL_BASE, DRM_COMMAND_BASE + number, below(sizeof(buffer))), buffer);
}

static int open_client(struct client *client)
{
	int ret;

	memset(client, 0, sizeof(*client));
	client->fd = one_in(2) ? npu_open() : npu_open_render();
	if (client->fd < 0)
		return client->fd;
	ret = npu_job_init(&client->job, client->fd, 4, 5);
	if (ret)
		return ret;
	add_live(client, client->job.commands.iova, client->job.commands.size);
	add_live(client, client->job.records.iova, client->job.records.size);
	add_live(client, client->job.data.iova, client->job.data.size);
	build_job(client);
	return 0;
}

/* Without a word to the driver about what is still open or running. */
static void drop_client(struct client *client)
{
	munmap(client->job.commands.map, client->job.commands.size);
	munmap(client->job.records.map, client->job.records.size);
	munmap(client->job.data.map, client->job.data.size);
	close(client->fd);
	drop_live(client);
}

static void fuzz_one(struct client *clients)
{
	struct client *client = &clients[below(FILES)];

	switch (below(16)) {
	case 0 ... 3:
		fuzz_create(client);
		break;
	case 4 ... 5:
		fuzz_destroy(client);
		break;
	case 6 ... 7:
		fuzz_map(client);
		break;
	case 8 ... 10:
		fuzz_sync(client);
		break;
	case 11:
		fuzz_action(client);
		break;
	case 12 ... 13:
		fuzz_submit(client);
		break;
	case 14:
		fuzz_prime(client, &clients[below(FILES)]);
		break;
	default:
		fuzz_raw(client);
		break;
	}
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

TEST_TIMEOUT(random_requests, 3600)
{
	unsigned long count = number_from("RKNPU_FUZZ_COUNT", 5000), i;
	unsigned long seed = number_from("RKNPU_FUZZ_SEED", 1);
	uint32_t sram_before = 0, sram_after = 0;
	static struct client clients[FILES];
	uint32_t strays = 0;
	unsigned int k;
	int fd = npu_open();

	if (fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, fd);
	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &sram_before);
	TH_LOG("seed %lu, %lu requests", seed, count);
	emulator = npu_emulator();
	if (emulator)
		strays = emulator[NPU_EMULATOR_STRAY];
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	npu_expect_fault(true);
	for (k = 0; k < FILES; k++)
		ASSERT_EQ(0, open_client(&clients[k]));
	for (i = 0; i < count; i++) {
		fuzz_one(clients);
		k = below(FILES);
		if (one_in(500) || clients[k].live > MAX_LIVE - 100) {
			drop_client(&clients[k]);
			ASSERT_EQ(0, open_client(&clients[k]));
		}
	}
	for (k = 0; k < FILES; k++)
		drop_client(&clients[k]);
	set_live(0, 0, 0);
	npu_expect_fault(false);
	EXPECT_EQ(0, npu_healthy());
	if (emulator)
		EXPECT_EQ(strays, emulator[NPU_EMULATOR_STRAY]);
	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &sram_after);
	EXPECT_EQ(sram_before, sram_after);
	close(fd);
}

TEST_HARNESS_MAIN
