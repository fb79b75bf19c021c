// SPDX-License-Identifier: GPL-2.0-only
#include <linux/component.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/property.h>
#include <linux/platform_device.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include <rknpu_drm.h>

#include "rknpu_action.h"
#include "rknpu_clients.h"
#include "rknpu_device.h"
#include "rknpu_explain.h"
#include "rknpu_file.h"
#include "rknpu_gem.h"
#include "rknpu_irq.h"
#include "rknpu_job.h"
#include "rknpu_power.h"
#include "rknpu_split.h"
#include "rknpu_submit.h"

static const struct drm_ioctl_desc rknpu_ioctls[] = {
	DRM_IOCTL_DEF_DRV(RKNPU_ACTION, rknpu_ioctl_action, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_SUBMIT, rknpu_ioctl_submit, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_CREATE, rknpu_ioctl_mem_create, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_MAP, rknpu_ioctl_mem_map, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_DESTROY, rknpu_ioctl_mem_destroy, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_SYNC, rknpu_ioctl_mem_sync, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_SUBMIT_SYNC, rknpu_ioctl_submit_sync, DRM_RENDER_ALLOW),
};

RKNPU_DEFINE_SHOW_FDINFO(rknpu_clients_show_fdinfo, rknpu_file_id)

static const struct file_operations rknpu_fops = {
	.owner = THIS_MODULE,
	RKNPU_FOPS_FDINFO(rknpu_clients_show_fdinfo)
	RKNPU_FOPS_FLAGS
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = rknpu_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
};

static const struct drm_driver rknpu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = rknpu_file_open,
	.postclose = rknpu_file_postclose,
	RKNPU_DRM_PRIME_OPS
	.gem_prime_import = rknpu_gem_prime_import,
	.gem_prime_import_sg_table = rknpu_gem_import_sg,
	RKNPU_DRM_FDINFO(rknpu_clients_show_fdinfo)
	.ioctls = rknpu_ioctls,
	.num_ioctls = ARRAY_SIZE(rknpu_ioctls),
	.fops = &rknpu_fops,
	.name = "rknpu",
	.desc = "RKNPU driver",
	RKNPU_DRM_DATE("20240828")
	.major = RKNPU_DRIVER_MAJOR,
	.minor = RKNPU_DRIVER_MINOR,
	.patchlevel = RKNPU_DRIVER_PATCH,
};

/* Everything lives as long as @dev is bound, or its group of devices is. */
static struct rknpu_device *rknpu_create(struct device *dev)
{
	struct rknpu_device *ndev;

	ndev = devm_drm_dev_alloc(dev, &rknpu_drm_driver, struct rknpu_device, drm);
	if (IS_ERR(ndev))
		return ndev;
	ndev->dev = dev;
	ndev->soc = device_get_match_data(dev);
	return ndev;
}

static int rknpu_start(struct rknpu_device *ndev)
{
	int ret;

	dev_set_drvdata(ndev->dev, ndev);
	ret = rknpu_device_init(ndev);
	if (ret)
		return ret;
	ret = drm_dev_register(&ndev->drm, 0);
	if (ret)
		rknpu_device_fini(ndev);
	return ret;
}

static void rknpu_stop(struct rknpu_device *ndev)
{
	drm_dev_unplug(&ndev->drm);
	/* On-chip memory may get another owner: take it from user space. */
	unmap_mapping_range(ndev->drm.anon_inode->i_mapping, 0, 0, 1);
	rknpu_device_fini(ndev);
}

static int rknpu_bind(struct device *dev)
{
	struct rknpu_device *ndev = rknpu_create(dev);
	int ret;

	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	ret = component_bind_all(dev, ndev);
	if (ret)
		return ret;
	ret = rknpu_start(ndev);
	if (ret) {
		dev_set_drvdata(dev, NULL);
		component_unbind_all(dev, ndev);
	}
	return ret;
}

static void rknpu_unbind(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);

	rknpu_stop(ndev);
	dev_set_drvdata(dev, NULL);
	component_unbind_all(dev, ndev);
}

static const struct component_master_ops rknpu_master_ops = {
	.bind = rknpu_bind,
	.unbind = rknpu_unbind,
};

static int rknpu_probe(struct platform_device *pdev)
{
	const struct rknpu_soc *soc = device_get_match_data(&pdev->dev);
	struct rknpu_device *ndev;

	rknpu_supply_hush(&pdev->dev);
	if (soc->quirks & RKNPU_QUIRK_SPLIT)
		return rknpu_split_add(&pdev->dev, &rknpu_master_ops);
	ndev = rknpu_create(&pdev->dev);
	return IS_ERR(ndev) ? PTR_ERR(ndev) : rknpu_start(ndev);
}

static void rknpu_remove(struct platform_device *pdev)
{
	const struct rknpu_soc *soc = device_get_match_data(&pdev->dev);

	if (soc->quirks & RKNPU_QUIRK_SPLIT)
		rknpu_split_del(&pdev->dev, &rknpu_master_ops);
	else
		rknpu_stop(platform_get_drvdata(pdev));
}

RKNPU_DEFINE_REMOVE(rknpu_remove)

static void rknpu_shutdown(struct platform_device *pdev)
{
	struct rknpu_device *ndev = platform_get_drvdata(pdev);

	if (!ndev)
		return;
	/* The IOMMU stops translating next: a job that runs would write anywhere. */
	drm_dev_unplug(&ndev->drm);
	rknpu_jobs_fini(ndev);
	rknpu_irq_shutdown(ndev);
}

static const struct of_device_id rknpu_of_match[] = {
	{ .compatible = "rockchip,rknpu", .data = &rknpu_soc_rk3568 },
	{ .compatible = "rockchip,rk3562-rknpu", .data = &rknpu_soc_rk3562 },
	{ .compatible = "rockchip,rk3566-rknpu", .data = &rknpu_soc_rk3568 },
	{ .compatible = "rockchip,rk3568-rknpu", .data = &rknpu_soc_rk3568 },
	{ .compatible = "rockchip,rk3576-rknn-core", .data = &rknpu_soc_rk3576_split },
	{ .compatible = "rockchip,rk3576-rknpu", .data = &rknpu_soc_rk3576 },
	{ .compatible = "rockchip,rk3588-rknn-core", .data = &rknpu_soc_rk3588_split },
	{ .compatible = "rockchip,rk3588-rknpu", .data = &rknpu_soc_rk3588 },
	{}
};
MODULE_DEVICE_TABLE(of, rknpu_of_match);

static struct platform_driver rknpu_driver = {
	.probe = rknpu_probe,
	.remove = RKNPU_REMOVE(rknpu_remove),
	.shutdown = rknpu_shutdown,
	.driver = {
		.name = "RKNPU",
		.of_match_table = rknpu_of_match,
		.pm = pm_ptr(&rknpu_pm_ops),
	},
};

static int __init rknpu_init(void)
{
	int ret;

	rknpu_supply_hush_all(rknpu_of_match);
	ret = platform_driver_register(&rknpu_driver);
	if (!ret) {
		rknpu_explain_rivals();
		return 0;
	}
	rknpu_supply_unhush_all(rknpu_of_match);
	if (ret == -EBUSY)
		pr_err("rknpu: this kernel has a driver RKNPU already: load none, or build the kernel without it\n");
	return ret;
}

static void __exit rknpu_exit(void)
{
	platform_driver_unregister(&rknpu_driver);
	rknpu_supply_unhush_all(rknpu_of_match);
}

late_initcall(rknpu_init);
module_exit(rknpu_exit);

MODULE_DESCRIPTION("Rockchip NPU driver");
MODULE_AUTHOR("The RKNPU open stack developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.9.8");
RKNPU_IMPORT_NS(DMA_BUF);
