// SPDX-License-Identifier: GPL-2.0-only
/*
 * 1369459b2e21 ("iommu: Add a gfp parameter to iommu_map()"), 6.3
 */
#include <linux/iommu.h>

int probe(struct iommu_domain *domain);

int probe(struct iommu_domain *domain)
{
	return iommu_map(domain, 0, 0, 0, 0, GFP_KERNEL);
}
