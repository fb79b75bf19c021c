// SPDX-License-Identifier: GPL-2.0-only
/*
 * "iommu: Introduce iommu_paging_domain_alloc() interface", 6.11
 */
#include <linux/iommu.h>

struct iommu_domain *probe(struct device *dev);

struct iommu_domain *probe(struct device *dev)
{
	return iommu_paging_domain_alloc(dev);
}
