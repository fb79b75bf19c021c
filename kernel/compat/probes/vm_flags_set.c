// SPDX-License-Identifier: GPL-2.0-only
/*
 * bc292ab00f6c ("mm: introduce vma->vm_flags wrapper functions"), 6.3
 */
#include <linux/mm.h>

void probe(struct vm_area_struct *vma);

void probe(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_IO);
}
