/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_IOMMU_H
#define RKNPU_COMPAT_IOMMU_H

#include <linux/iommu.h>

#ifndef HAVE_IOMMU_MAP_GFP
static inline int rknpu_compat_iommu_map(struct iommu_domain *domain, unsigned long iova,
					 phys_addr_t paddr, size_t size, int prot, gfp_t gfp)
{
	return iommu_map(domain, iova, paddr, size, prot);
}

#define iommu_map rknpu_compat_iommu_map
#endif

#ifndef HAVE_IOMMU_PAGING_DOMAIN_ALLOC
static inline struct iommu_domain *iommu_paging_domain_alloc(struct device *dev)
{
	struct iommu_domain *domain = iommu_domain_alloc(dev->bus);

	return domain ? domain : ERR_PTR(-ENOMEM);
}
#endif

#endif
