// SPDX-License-Identifier: GPL-2.0-only
/*
 * f3ba3c710ac5 ("mm/highmem: Provide kmap_local*"), 5.11
 */
#include <linux/highmem.h>

void *probe(struct page *page);

void *probe(struct page *page)
{
	return kmap_local_page(page);
}
