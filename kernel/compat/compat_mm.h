/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_MM_H
#define RKNPU_COMPAT_MM_H

#include <linux/highmem.h>
#include <linux/mm.h>

#ifndef HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}
#endif

#ifndef HAVE_KMAP_LOCAL_PAGE
#define kmap_local_page(page)	kmap_atomic(page)
#define kunmap_local(vaddr)	kunmap_atomic(vaddr)
#endif

#endif
