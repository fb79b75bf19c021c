// SPDX-License-Identifier: GPL-2.0-only
#include <linux/devfreq.h>

const struct devfreq_dev_profile probe = {
	.is_cooling_device = true,
};
