// SPDX-License-Identifier: MIT
// MEM_CREATE: sizes, flags, look-up by handle, tokens, device addresses.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "npu_device.h"

#define MANY 100

FIXTURE(mem_create) {
	int fd;
};

FIXTURE_SETUP(mem_create)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(mem_create)
{
	close(self->fd);
}

static int create(int fd, struct rknpu_mem_create *args)
{
	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, args);
}

static int destroy(int fd, uint32_t handle)
{
	struct rknpu_mem_destroy args = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &args);
}

TEST_F(mem_create, size_is_rounded_up_to_pages)
{
	static const uint64_t sizes[] = { 1, 440, 4095, 4096, 4097, 17664, 29772, 1114112 };
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct rknpu_mem_create args = { .flags = NPU_MEM_DATA, .size = sizes[i] };

		ASSERT_EQ(0, create(self->fd, &args));
		EXPECT_EQ((sizes[i] + NPU_PAGE - 1) / NPU_PAGE * NPU_PAGE, args.size);
	}
}

TEST_F(mem_create, size_zero_gets_einval)
{
	struct rknpu_mem_create args = { .flags = NPU_MEM_DATA };

	EXPECT_EQ(-EINVAL, create(self->fd, &args));
}

TEST_F(mem_create, b14_sizes_beyond_reach_get_enomem_and_change_nothing)
{
	static const uint64_t sizes[] = {
		0xffffffffull,		    0x100000000ull,	     0x100000001ull,
		0x100001000ull,		    0x7fffffffffffffffull,   0x8000000000000000ull,
		0xfffffffffffff000ull,	    0xffffffffffffffffull,
	};
	static const uint32_t flags[] = { 0, NPU_MEM_DATA, NPU_MEM_DATA | RKNPU_MEM_TRY_ALLOC_SRAM };
	unsigned int i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (k = 0; k < 3; k++) {
			struct rknpu_mem_create args = { .flags = flags[k], .size = sizes[i] };
			const struct rknpu_mem_create before = args;

			EXPECT_EQ(-ENOMEM, create(self->fd, &args));
			EXPECT_EQ(0, memcmp(&args, &before, sizeof(args)));
		}
	}
}

/* Cleared memory ends in zeros, if it is all there. */
static unsigned int last_bytes_of(const struct npu_bo *bo)
{
	const uint8_t *end = (const uint8_t *)bo->map + bo->size;
	unsigned int i, used = 0;

	for (i = 1; i <= 64; i++)
		used |= end[-(int)i];
	return used;
}

#define WINDOW_PIECES 1024u
#define WINDOW_PIECE 0x10000u
#define WINDOW_SIZE ((uint64_t)WINDOW_PIECES * WINDOW_PIECE)

/* 64 MiB that cost 64 KiB, because the same piece comes again and again; or a negative errno. */
static int make_window(void)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memfd, fd;
	struct udmabuf_create_list *args;
	unsigned int i;

	if (device < 0)
		return -errno;
	memfd = memfd_create("window", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (memfd < 0 || ftruncate(memfd, WINDOW_PIECE) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	args = calloc(1, sizeof(*args) + WINDOW_PIECES * sizeof(args->list[0]));
	args->flags = UDMABUF_FLAGS_CLOEXEC;
	args->count = WINDOW_PIECES;
	for (i = 0; i < WINDOW_PIECES; i++)
		args->list[i] = (struct udmabuf_create_item){ .memfd = memfd, .size = WINDOW_PIECE };
	fd = ioctl(device, UDMABUF_CREATE_LIST, args);
	fd = fd < 0 ? -errno : fd;
	free(args);
	close(memfd);
	close(device);
	return fd;
}

/* Imports one more window into an address space; 0 or a negative errno. */
static int map_window(int fd, int32_t domain, uint32_t *handle)
{
	struct rknpu_mem_create args = { .iommu_domain_id = domain };
	int window = make_window(), ret = window;

	if (window >= 0)
		ret = npu_import(fd, window, handle);
	close(window);
	args.handle = *handle;
	return ret ? ret : create(fd, &args);
}

TEST_F_TIMEOUT(mem_create, b14_full_address_space_gets_enomem_and_says_so, 120)
{
	struct rknpu_mem_create small = { .flags = NPU_MEM_DATA, .size = NPU_PAGE };
	struct rknpu_mem_create again = { 0 };
	uint32_t handles[80], count;
	int log = npu_log_open(), ret = 0;

	if (!npu_has_iommu(self->fd))
		SKIP(return, "without an IOMMU addresses are those of the memory");
	ret = make_window();
	if (ret < 0)
		SKIP(return, "no /dev/udmabuf (%s)", strerror(-ret));
	close(ret);
	if (access("/sys/kernel/debug/dma-api", F_OK) == 0)
		SKIP(return, "DMA debugging warns of memory that is mapped many times");
	for (count = 0; count < 80; count++) {
		ret = map_window(self->fd, 0, &handles[count]);
		if (ret)
			break;
	}
	EXPECT_EQ(-ENOMEM, ret);
	/* 4 GiB, less what the ends and the alignment cost. */
	EXPECT_LE(62, count);
	EXPECT_GE(64, count);
	EXPECT_TRUE(npu_log_has(log, "no IOVA for 67108864 bytes, largest free: "));
	/* There are other address spaces, and smaller objects. */
	again.handle = handles[count];
	again.iommu_domain_id = 1;
	EXPECT_EQ(0, create(self->fd, &again));
	EXPECT_EQ(0, create(self->fd, &small));
	/* One goes, one comes. */
	EXPECT_EQ(0, destroy(self->fd, handles[0]));
	again.iommu_domain_id = 0;
	EXPECT_EQ(0, create(self->fd, &again));
	close(log);
}

TEST_F(mem_create, every_flag_gives_a_usable_object)
{
	int bit;

	for (bit = -1; bit < 32; bit++) {
		uint32_t flags = bit < 0 ? 0 : 1u << bit;
		struct npu_bo bo;
		unsigned int i, used = 0;

		ASSERT_EQ(0, npu_bo_create(self->fd, flags, 3 * NPU_PAGE, &bo));
		EXPECT_NE(0, bo.iova);
		EXPECT_EQ(0, bo.iova % NPU_PAGE);
		EXPECT_GE(0x100000000ll, bo.iova + bo.size);
		EXPECT_NE(0, bo.token);
		for (i = 0; i < bo.size; i++)
			used |= ((uint8_t *)bo.map)[i];
		EXPECT_EQ(0, used);
		memset(bo.map, 0x5a, bo.size);
		npu_bo_destroy(&bo);
	}
}

TEST_F(mem_create, known_handle_is_a_look_up)
{
	struct rknpu_mem_create args = { .flags = NPU_MEM_DATA, .size = 10000 };
	struct rknpu_mem_create again = { 0 };
	struct rknpu_mem_destroy destroy = { 0 };

	ASSERT_EQ(0, create(self->fd, &args));
	again.handle = args.handle;
	again.size = 1;
	ASSERT_EQ(0, create(self->fd, &again));
	EXPECT_EQ(args.handle, again.handle);
	EXPECT_EQ(args.size, again.size);
	EXPECT_EQ(args.obj_addr, again.obj_addr);
	EXPECT_EQ(args.dma_addr, again.dma_addr);
	/* The look-up took no reference: one destroy is enough. */
	destroy.handle = args.handle;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy));
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy));
}

TEST_F(mem_create, unknown_handle_allocates)
{
	struct rknpu_mem_create args = { .handle = 777, .flags = NPU_MEM_DATA, .size = NPU_PAGE };

	ASSERT_EQ(0, create(self->fd, &args));
	EXPECT_NE(0, args.handle);
	EXPECT_NE(0, args.dma_addr);
}

TEST_F(mem_create, b14_bad_domain_id_gets_einval)
{
	static const int32_t ids[] = { -1, 16, INT32_MAX, INT32_MIN };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct rknpu_mem_create args = {
			.flags = NPU_MEM_DATA, .size = NPU_PAGE, .iommu_domain_id = ids[i],
		};

		EXPECT_EQ(-EINVAL, create(self->fd, &args));
	}
}

TEST_F(mem_create, every_domain_id_has_its_own_addresses)
{
	int32_t id;

	for (id = 0; id < RKNPU_MAX_IOMMU_DOMAIN_NUM; id++) {
		struct rknpu_mem_create args = {
			.flags = NPU_MEM_DATA, .size = NPU_PAGE, .iommu_domain_id = id,
		};

		ASSERT_EQ(0, create(self->fd, &args));
		EXPECT_NE(0, args.dma_addr);
	}
}

TEST_F(mem_create, core_mask_is_ignored)
{
	struct rknpu_mem_create args = {
		.flags = NPU_MEM_DATA | RKNPU_MEM_TRY_ALLOC_NBUF,
		.size = NPU_PAGE,
		.core_mask = 0xffffffff,
	};

	EXPECT_EQ(0, create(self->fd, &args));
}

TEST_F(mem_create, b13_tokens_are_random_and_unique)
{
	struct rknpu_mem_create args[MANY];
	unsigned int i, k, ordered = 0, kernel_like = 0;

	for (i = 0; i < MANY; i++) {
		args[i] = (struct rknpu_mem_create){ .flags = NPU_MEM_DATA, .size = NPU_PAGE };
		ASSERT_EQ(0, create(self->fd, &args[i]));
		for (k = 0; k < i; k++)
			ASSERT_NE(args[k].obj_addr, args[i].obj_addr);
		ordered += i && args[i].obj_addr > args[i - 1].obj_addr;
		kernel_like += args[i].obj_addr >> 40 == 0xffffff;
	}
	/* Random numbers rise half of the time; kernel addresses all begin alike. */
	EXPECT_LT(MANY / 5, ordered);
	EXPECT_GT(MANY - MANY / 5, ordered);
	EXPECT_EQ(0, kernel_like);
}

TEST_F(mem_create, device_ranges_do_not_overlap)
{
	struct rknpu_mem_create args[MANY];
	unsigned int i, k;

	for (i = 0; i < MANY; i++) {
		args[i] = (struct rknpu_mem_create){ .flags = NPU_MEM_DATA,
						     .size = NPU_PAGE * (1 + i % 7) };
		ASSERT_EQ(0, create(self->fd, &args[i]));
		for (k = 0; k < i; k++) {
			bool apart = args[k].dma_addr + args[k].size <= args[i].dma_addr ||
				     args[i].dma_addr + args[i].size <= args[k].dma_addr;

			ASSERT_TRUE(apart);
		}
	}
}

TEST_F(mem_create, freed_memory_never_shows_up_elsewhere)
{
	int round, other = npu_open();
	struct npu_bo bo;
	unsigned int i;

	ASSERT_LE(0, other);
	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 16 * NPU_PAGE, &bo));
		memset(bo.map, 0xa5, bo.size);
		npu_bo_destroy(&bo);
		ASSERT_EQ(0, npu_bo_create(other, NPU_MEM_DATA, 16 * NPU_PAGE, &bo));
		for (i = 0; i < bo.size; i += 64)
			ASSERT_EQ(0, ((uint8_t *)bo.map)[i]);
		npu_bo_destroy(&bo);
	}
	close(other);
}

TEST_F_TIMEOUT(mem_create, b15_addresses_and_memory_come_back, 180)
{
	struct npu_bo bo;
	int round;

	/* 4.2 GiB in all: more than there are device addresses. */
	for (round = 0; round < 270; round++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 16 << 20, &bo));
		npu_bo_destroy(&bo);
	}
}

/*
 * Without an IOMMU memory is one piece: how much of it can be had depends on the
 * pool. What cannot is ENOMEM with a hint, and changes nothing.
 */
TEST_F_TIMEOUT(mem_create, b18_one_piece_or_enomem_with_a_hint, 60)
{
	uint64_t size, largest[2] = { 0, 0 };
	int log = npu_log_open(), round, ret, failed = 0;
	struct npu_bo bo;

	if (npu_has_iommu(self->fd))
		SKIP(return, "this NPU has an IOMMU");
	for (round = 0; round < 2; round++) {
		for (size = 1 << 20; size <= 512 << 20; size <<= 1) {
			ret = npu_bo_create(self->fd, RKNPU_MEM_CACHEABLE, size, &bo);
			if (ret) {
				EXPECT_EQ(-ENOMEM, ret);
				failed++;
				continue;
			}
			largest[round] = size;
			EXPECT_EQ(0, last_bytes_of(&bo));
			npu_bo_destroy(&bo);
		}
	}
	EXPECT_LE(1 << 20, largest[0]);
	EXPECT_EQ(largest[0], largest[1]);
	/* More than this board has in one piece was among them. */
	EXPECT_LT(0, failed);
	EXPECT_TRUE(npu_log_has(log, "bytes in one piece, as there is no IOMMU"));
	close(log);
}

/* Addresses are aligned to the next power of two, up to 4 MiB, unless that is waived. */
TEST_F(mem_create, device_address_is_aligned_to_the_size)
{
	static const struct {
		uint64_t pages, align;
	} sizes[] = { { 1, 1 }, { 3, 4 }, { 4, 4 }, { 5, 8 }, { 100, 128 }, { 1025, 1024 } };
	struct npu_bo bo[2][6];
	unsigned int i;

	if (!npu_has_iommu(self->fd))
		SKIP(return, "without an IOMMU addresses are those of the memory");
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA &
					   ~RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT,
					   sizes[i].pages * NPU_PAGE, &bo[0][i]));
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, sizes[i].pages * NPU_PAGE,
					   &bo[1][i]));
		EXPECT_EQ(0, bo[0][i].iova % (sizes[i].align * NPU_PAGE));
		EXPECT_EQ(0, bo[1][i].iova % NPU_PAGE);
	}
	for (i = 0; i < 6; i++) {
		npu_bo_destroy(&bo[0][i]);
		npu_bo_destroy(&bo[1][i]);
	}
}

TEST_F(mem_create, contiguous_object_is_usable)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, RKNPU_MEM_CACHEABLE, 64 * NPU_PAGE, &bo));
	memset(bo.map, 1, bo.size);
	npu_bo_destroy(&bo);
}

TEST_HARNESS_MAIN
