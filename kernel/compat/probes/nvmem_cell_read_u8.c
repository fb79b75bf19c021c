// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without CONFIG_NVMEM the headers of older kernels (6.1) declare no such
 * function, though they do for wider values.
 */
#include <linux/nvmem-consumer.h>

int probe(struct device *dev, u8 *value);

int probe(struct device *dev, u8 *value)
{
	return nvmem_cell_read_u8(dev, "cores", value);
}
