// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/nvmem-consumer.h>
#include <linux/platform_device.h>

#include <drm/drm_managed.h>

#include "rknpu_debugfs.h"
#include "rknpu_device.h"
#include "rknpu_dump.h"
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

static int rknpu_device_get_irq(struct rknpu_device *ndev, struct rknpu_core *core)
{
	struct platform_device *pdev = to_platform_device(ndev->dev);
	char name[16];
	int irq;

	if (ndev->soc->num_cores == 1)
		strscpy(name, "npu_irq", sizeof(name));
	else
		snprintf(name, sizeof(name), "npu%u_irq", core->index);
	irq = platform_get_irq_byname_optional(pdev, name);
	if (irq == -EPROBE_DEFER)
		return irq;
	if (irq < 0)
		irq = platform_get_irq_optional(pdev, core->index);
	return irq;
}

static void rknpu_device_drop_hint(void *data)
{
	struct rknpu_core *core = data;

	irq_set_affinity_hint(core->irq, NULL);
}

/*
 * Each core starts on a CPU of its own. It is only a start: whatever the
 * administrator sets later stays, since the line is never requested again.
 */
static int rknpu_device_spread_irq(struct rknpu_device *ndev, struct rknpu_core *core)
{
	unsigned int cpu = cpumask_local_spread(core->index % num_online_cpus(), NUMA_NO_NODE);

	irq_set_affinity_hint(core->irq, cpumask_of(cpu));
	return devm_add_action_or_reset(ndev->dev, rknpu_device_drop_hint, core);
}

/* The lines are live from here on; nothing is powered, so none is ours yet. */
static int rknpu_device_request_irqs(struct rknpu_device *ndev)
{
	struct rknpu_core *core;
	const char *name;
	int ret;

	rknpu_for_each_core(core, ndev, ~0) {
		core->irq = rknpu_device_get_irq(ndev, core);
		if (core->irq < 0)
			return dev_err_probe(ndev->dev, core->irq, "interrupt of core %u\n",
					     core->index);
		name = devm_kasprintf(ndev->dev, GFP_KERNEL, "%s-core%u", dev_name(ndev->dev),
				      core->index);
		if (!name)
			return -ENOMEM;
		ret = devm_request_irq(ndev->dev, core->irq, rknpu_job_irq, IRQF_SHARED, name,
				       core);
		if (ret)
			return dev_err_probe(ndev->dev, ret, "interrupt %d of core %u\n",
					     core->irq, core->index);
		ret = rknpu_device_spread_irq(ndev, core);
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
	ret = rknpu_power_init(ndev);
	if (ret)
		return ret;
	ret = rknpu_device_init_cores(ndev);
	if (ret)
		return ret;
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
	ndev->hw_version = rknpu_core_version(&ndev->cores[0]);
	rknpu_power_put(ndev);
	return 0;
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
	ret = rknpu_device_request_irqs(ndev);
	if (ret)
		goto err_mmu;
	rknpu_power_enable(ndev);
	ret = rknpu_device_identify(ndev);
	if (ret)
		goto err_power;
	rknpu_debugfs_init(ndev);
	return 0;

err_power:
	rknpu_power_disable(ndev);
err_mmu:
	rknpu_mmu_fini(ndev);
	return ret;
}

/* The DRM device is unplugged already; files may still be open. */
void rknpu_device_fini(struct rknpu_device *ndev)
{
	rknpu_debugfs_fini(ndev);
	rknpu_jobs_fini(ndev);
	rknpu_power_force(ndev, false);
	rknpu_mmu_fini(ndev);
	rknpu_power_disable(ndev);
}
