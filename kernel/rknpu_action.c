// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/sched.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include <rknpu_drm.h>

#include "rknpu_action.h"
#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_power.h"
#include "rknpu_recover.h"

static int rknpu_action_get_rate(struct rknpu_device *ndev, u32 *value)
{
	*value = rknpu_freq_rate(ndev);
	return 0;
}

static int rknpu_action_get_voltage(struct rknpu_device *ndev, u32 *value)
{
	int uv, ret = rknpu_freq_voltage(ndev, &uv);

	if (!ret)
		*value = uv;
	return ret;
}

/* The runtime asks for -19 and does not look at the answer. */
static int rknpu_action_set_nice(s32 nice)
{
	nice = clamp(nice, MIN_NICE, MAX_NICE);
	if (nice >= task_nice(current) || can_nice(current, nice))
		set_user_nice(current, nice);
	return 0;
}

static int rknpu_action_power_on(struct rknpu_file *file)
{
	int ret = rknpu_power_get(file->ndev);

	if (ret)
		return ret;
	mutex_lock(&file->lock);
	file->powered++;
	mutex_unlock(&file->lock);
	return 0;
}

static int rknpu_action_power_off(struct rknpu_file *file)
{
	int ret = -EINVAL;

	mutex_lock(&file->lock);
	if (file->powered) {
		file->powered--;
		ret = 0;
	}
	mutex_unlock(&file->lock);
	if (!ret)
		rknpu_power_put(file->ndev);
	return ret;
}

static int rknpu_action_set_domain(struct rknpu_file *file, s32 domain)
{
	if (domain < 0 || domain >= RKNPU_MAX_IOMMU_DOMAIN_NUM)
		return -EINVAL;
	mutex_lock(&file->lock);
	file->domain_id = domain;
	mutex_unlock(&file->lock);
	return 0;
}

static void rknpu_action_sram(struct rknpu_device *ndev, u32 *total, u32 *free)
{
	u32 all = 0, left = 0;

	/* Without an IOMMU no object lies there: its memory must be one piece. */
	if (ndev->mmu)
		rknpu_sram_usage(&ndev->sram, &all, &left);
	if (total)
		*total = all;
	if (free)
		*free = left;
}

/* Requests that concern the whole NPU. */
static int rknpu_action_device(struct rknpu_device *ndev, struct rknpu_action *args)
{
	switch (args->flags) {
	case RKNPU_GET_HW_VERSION:
		args->value = ndev->hw_version;
		return 0;
	case RKNPU_GET_DRV_VERSION:
		args->value = RKNPU_DRIVER_MAJOR * 10000 + RKNPU_DRIVER_MINOR * 100 +
			      RKNPU_DRIVER_PATCH;
		return 0;
	case RKNPU_GET_FREQ:
		return rknpu_action_get_rate(ndev, &args->value);
	case RKNPU_GET_VOLT:
		return rknpu_action_get_voltage(ndev, &args->value);
	case RKNPU_ACT_RESET:
		return rknpu_recover_reset_all(ndev);
	case RKNPU_ACT_CLR_TOTAL_RW_AMOUNT:
	case RKNPU_GET_DT_WR_AMOUNT:
	case RKNPU_GET_DT_RD_AMOUNT:
	case RKNPU_GET_WT_RD_AMOUNT:
	case RKNPU_GET_TOTAL_RW_AMOUNT:
		return 0;
	case RKNPU_GET_IOMMU_EN:
		args->value = !!ndev->mmu;
		return 0;
	case RKNPU_GET_TOTAL_SRAM_SIZE:
		rknpu_action_sram(ndev, &args->value, NULL);
		return 0;
	case RKNPU_GET_FREE_SRAM_SIZE:
		rknpu_action_sram(ndev, NULL, &args->value);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Requests that concern the caller. */
static int rknpu_action_file(struct rknpu_file *file, struct rknpu_action *args)
{
	switch (args->flags) {
	case RKNPU_SET_PROC_NICE:
		return rknpu_action_set_nice(args->value);
	case RKNPU_POWER_ON:
		return rknpu_action_power_on(file);
	case RKNPU_POWER_OFF:
		return rknpu_action_power_off(file);
	case RKNPU_GET_IOMMU_DOMAIN_ID:
		args->value = READ_ONCE(file->domain_id);
		return 0;
	case RKNPU_SET_IOMMU_DOMAIN_ID:
		return rknpu_action_set_domain(file, args->value);
	default:
		return rknpu_action_device(file->ndev, args);
	}
}

int rknpu_ioctl_action(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	int idx, ret;

	/* Clocks and registers are gone with the device. */
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = rknpu_action_file(drm_file->driver_priv, data);
	drm_dev_exit(idx);
	return ret;
}
