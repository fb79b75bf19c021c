// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/nvmem-consumer.h>
#include <linux/platform_device.h>

#include <drm/drm_managed.h>

#include "rknpu_debugfs.h"
#include "rknpu_device.h"
#include "rknpu_dump.h"
#include "rknpu_explain.h"
#include "rknpu_irq.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_vm.h"

/* Cores switched off in the factory, on parts that say so. */
static int rknpu_device_fused(struct rknpu_device *ndev, u32 *fused)
{
	u8 bits;
	int ret;

	*fused = 0;
	if (!(ndev->soc->quirks & RKNPU_QUIRK_FUSED_CORES))
		return 0;
	ret = nvmem_cell_read_u8(ndev->dev, "cores", &bits);
	if (ret == -ENOENT || ret == -EOPNOTSUPP || ret == -ENODEV)
		return 0;
	if (ret)
		return dev_err_probe(ndev->dev, ret, "fuses\n");
	/* Such parts never have core 2, whatever the fuse says; others are of no use. */
	*fused = bits | BIT(2);
	if (bits & (BIT(0) | BIT(1)))
		return dev_err_probe(ndev->dev, -ENODEV, "core 0 or 1 is fused off\n");
	return 0;
}

static int rknpu_device_init_cores(struct rknpu_device *ndev)
{
	u32 fused;
	int i, ret;

	ret = rknpu_device_fused(ndev, &fused);
	if (ret)
		return ret;
	if (!rknpu_is_split(ndev))
		ndev->core_mask = GENMASK(ndev->soc->num_cores - 1, 0) & ~fused;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		ndev->cores[i].index = i;
		if (!(ndev->core_mask & BIT(i)))
			continue;
		ret = rknpu_core_init(ndev, i);
		if (ret)
			return ret;
	}
	return 0;
}

static void rknpu_device_drop_dma(struct drm_device *drm, void *data)
{
	platform_device_unregister(data);
}

/*
 * Device addresses are made by rknpu_vm.c, not by the DMA API. What is needed
 * of the DMA API, bus addresses and cache maintenance, comes from a device
 * that has no IOMMU. Without one in front of the NPU either, it is the NPU.
 */
static int rknpu_device_init_dma(struct rknpu_device *ndev)
{
	unsigned int bits = ndev->mmu ? ndev->soc->dma_bits : 32;
	struct platform_device_info info = {
		.parent = ndev->dev,
		.name = "rknpu-dma",
		.id = PLATFORM_DEVID_AUTO,
		.dma_mask = DMA_BIT_MASK(bits),
	};
	struct platform_device *pdev;
	int ret;

	ndev->dma_dev = ndev->dev;
	if (ndev->mmu) {
		pdev = platform_device_register_full(&info);
		if (IS_ERR(pdev))
			return PTR_ERR(pdev);
		ret = drmm_add_action_or_reset(&ndev->drm, rknpu_device_drop_dma, pdev);
		if (ret)
			return ret;
		ndev->dma_dev = &pdev->dev;
	}
	ret = dma_set_mask_and_coherent(ndev->dma_dev, DMA_BIT_MASK(bits));
	if (ret)
		return dev_err_probe(ndev->dev, ret, "DMA mask\n");
	dma_set_max_seg_size(ndev->dma_dev, UINT_MAX);
	return 0;
}

static void rknpu_device_drop_wq(struct drm_device *drm, void *data)
{
	destroy_workqueue(data);
}

static int rknpu_device_init_wq(struct rknpu_device *ndev)
{
	ndev->wq = alloc_ordered_workqueue("rknpu", WQ_HIGHPRI | WQ_MEM_RECLAIM);
	if (!ndev->wq)
		return -ENOMEM;
	/* As long as the device, since ended jobs are freed on it. */
	return drmm_add_action_or_reset(&ndev->drm, rknpu_device_drop_wq, ndev->wq);
}

static int rknpu_device_init_parts(struct rknpu_device *ndev)
{
	int ret;

	mutex_init(&ndev->reset_lock);
	mutex_init(&ndev->vms_lock);
	mutex_init(&ndev->power_lock);
	ret = rknpu_explain_interrupts(ndev);
	if (ret)
		return ret;
	ret = rknpu_device_init_cores(ndev);
	if (ret)
		return ret;
	ret = rknpu_supply_init(ndev);
	if (ret)
		return ret;
	rknpu_freq_setup(ndev);
	ret = rknpu_device_init_wq(ndev);
	if (ret)
		return ret;
	ret = rknpu_dump_init(ndev);
	if (ret)
		return ret;
	ret = rknpu_sram_init(ndev);
	if (ret)
		return ret;
	return rknpu_mmu_init(ndev);
}

/* Wake the NPU for the first time, and ask it what it is. */
static int rknpu_device_identify(struct rknpu_device *ndev)
{
	int ret = rknpu_power_get(ndev);

	if (ret)
		return dev_err_probe(ndev->dev, ret, "power\n");
	ndev->hw_version = rknpu_core_version(&ndev->cores[__ffs(ndev->core_mask)]);
	ret = rknpu_freq_init(ndev);
	rknpu_power_put(ndev);
	return ret;
}

/**
 * rknpu_device_init() - set up everything but the DRM device
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_device_init(struct rknpu_device *ndev)
{
	int ret;

	ret = rknpu_device_init_parts(ndev);
	if (ret)
		return ret;
	ret = rknpu_device_init_dma(ndev);
	if (ret)
		goto err_mmu;
	rknpu_jobs_init(ndev);
	ret = rknpu_irq_init(ndev);
	if (ret)
		goto err_mmu;
	rknpu_explain_optional(ndev);
	if (ndev->mmu)
		rknpu_explain_low_tables(ndev);
	rknpu_power_enable(ndev);
	ret = rknpu_device_identify(ndev);
	if (ret)
		goto err_power;
	rknpu_debugfs_init(ndev);
	return 0;

err_power:
	rknpu_power_disable(ndev);
	flush_workqueue(ndev->wq);
err_mmu:
	rknpu_mmu_fini(ndev);
	return ret;
}

/* The DRM device is unplugged already; files may still be open. */
void rknpu_device_fini(struct rknpu_device *ndev)
{
	rknpu_debugfs_fini(ndev);
	rknpu_jobs_fini(ndev);
	rknpu_freq_fini(ndev);
	rknpu_power_force(ndev, false);
	rknpu_mmu_fini(ndev);
	rknpu_power_disable(ndev);
	/* What the end of jobs and of power has queued meanwhile. */
	flush_workqueue(ndev->wq);
}
