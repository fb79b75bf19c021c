// SPDX-License-Identifier: GPL-2.0-only
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "rknpu_clients.h"
#include "rknpu_debugfs.h"
#include "rknpu_device.h"
#include "rknpu_power.h"
#include "rknpu_procfs.h"
#include "rknpu_recover.h"
#include "rknpu_sram.h"

/**
 * DOC: debugfs
 *
 * The nodes that the vendor's driver has are an interface: monitors parse
 * their texts, byte by byte. Whatever is new goes into new nodes. Reading any
 * of them is cheap, waits for no job and wakes no hardware.
 */

/**
 * struct rknpu_node - one file
 * @name: its name
 * @show: writes its text
 * @store: takes a text, or NULL; returns 0 or a negative error code
 * @private: names what others do: not for everybody's eyes
 */
struct rknpu_node {
	const char *name;
	int (*show)(struct rknpu_device *ndev, struct seq_file *m);
	int (*store)(struct rknpu_device *ndev, const char *text);
	bool private;
};

/* "on" and "off" with their newline fit, and so does every sensible number. */
#define RKNPU_NODE_TEXT		16

static int rknpu_version_show(struct rknpu_device *ndev, struct seq_file *m)
{
	seq_printf(m, "RKNPU driver: v%d.%d.%d\n", RKNPU_DRIVER_MAJOR, RKNPU_DRIVER_MINOR,
		   RKNPU_DRIVER_PATCH);
	return 0;
}

static int rknpu_load_show(struct rknpu_device *ndev, struct seq_file *m)
{
	unsigned int load[RKNPU_MAX_CORES] = {};
	struct rknpu_core *core;

	spin_lock_irq(&ndev->job_lock);
	rknpu_for_each_core(core, ndev, ~0)
		load[core->index] = rknpu_core_load(core, ktime_get_ns());
	spin_unlock_irq(&ndev->job_lock);

	if (ndev->soc->num_cores == 1) {
		seq_printf(m, "NPU load: %2u%%\n", load[0]);
		return 0;
	}
	seq_puts(m, "NPU load: ");
	rknpu_for_each_core(core, ndev, ~0)
		seq_printf(m, " Core%u: %2u%%,", core->index, load[core->index]);
	seq_putc(m, '\n');
	return 0;
}

static int rknpu_mm_show(struct rknpu_device *ndev, struct seq_file *m)
{
	/* As the actions say: without an IOMMU none of it is of use. */
	if (ndev->mmu)
		rknpu_sram_show(&ndev->sram, m);
	return 0;
}

static int rknpu_power_show(struct rknpu_device *ndev, struct seq_file *m)
{
	seq_puts(m, rknpu_power_is_on(ndev) ? "on\n" : "off\n");
	return 0;
}

static int rknpu_power_store(struct rknpu_device *ndev, const char *text)
{
	bool on = sysfs_streq(text, "on");
	int ret;

	if (!on && !sysfs_streq(text, "off"))
		return -EINVAL;
	ret = rknpu_power_force(ndev, on);
	if (!ret)
		dev_info(ndev->dev, "RKNPU: rknpu power is %s!\n", on ? "on" : "off");
	return ret;
}

static int rknpu_freq_show(struct rknpu_device *ndev, struct seq_file *m)
{
	seq_printf(m, "%lu\n", rknpu_freq_rate(ndev));
	return 0;
}

static int rknpu_freq_store(struct rknpu_device *ndev, const char *text)
{
	unsigned long hz;
	int ret = kstrtoul(text, 10, &hz);

	return ret ?: rknpu_freq_pin(ndev, hz);
}

static int rknpu_volt_show(struct rknpu_device *ndev, struct seq_file *m)
{
	int uv, ret = rknpu_freq_voltage(ndev, &uv);

	if (!ret)
		seq_printf(m, "%d\n", uv);
	return ret;
}

static int rknpu_delayms_show(struct rknpu_device *ndev, struct seq_file *m)
{
	seq_printf(m, "%u\n", rknpu_power_delay(ndev));
	return 0;
}

static int rknpu_delayms_store(struct rknpu_device *ndev, const char *text)
{
	unsigned int ms;
	int ret = kstrtouint(text, 10, &ms);

	if (ret || ms > INT_MAX)
		return -EINVAL;
	rknpu_power_set_delay(ndev, ms);
	dev_info(ndev->dev, "RKNPU: set rknpu power put delay time %ums\n", ms);
	return 0;
}

static int rknpu_reset_show(struct rknpu_device *ndev, struct seq_file *m)
{
	seq_puts(m, READ_ONCE(ndev->bypass_reset) ? "off\n" : "on\n");
	return 0;
}

static int rknpu_reset_store(struct rknpu_device *ndev, const char *text)
{
	if (sysfs_streq(text, "1"))
		return rknpu_recover_reset_all(ndev);
	if (!sysfs_streq(text, "on") && !sysfs_streq(text, "off"))
		return -EINVAL;
	WRITE_ONCE(ndev->bypass_reset, sysfs_streq(text, "off"));
	return 0;
}

static const struct rknpu_node rknpu_nodes[] = {
	{ "version", rknpu_version_show },
	{ "load", rknpu_load_show },
	{ "mm", rknpu_mm_show },
	{ "power", rknpu_power_show, rknpu_power_store },
	{ "freq", rknpu_freq_show, rknpu_freq_store },
	{ "volt", rknpu_volt_show },
	{ "delayms", rknpu_delayms_show, rknpu_delayms_store },
	{ "reset", rknpu_reset_show, rknpu_reset_store },
	{ "clients", rknpu_clients_show, .private = true },
	{ "jobs", rknpu_clients_show_jobs, .private = true },
};

/* What a file's inode points to. */
struct rknpu_node_file {
	struct rknpu_device *ndev;
	const struct rknpu_node *node;
};

int rknpu_node_show(struct seq_file *m, void *unused)
{
	struct rknpu_node_file *file = m->private;

	return file->node->show(file->ndev, m);
}

static int rknpu_node_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, rknpu_node_show, inode->i_private);
}

ssize_t rknpu_node_write(struct file *filp, const char __user *buf, size_t len, loff_t *pos)
{
	struct rknpu_node_file *file = ((struct seq_file *)filp->private_data)->private;
	char text[RKNPU_NODE_TEXT + 1];
	int ret;

	if (!file->node->store)
		return -EPERM;
	if (!len || len > RKNPU_NODE_TEXT)
		return -EINVAL;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	text[len] = '\0';
	if (strlen(text) != len)
		return -EINVAL;
	ret = file->node->store(file->ndev, text);
	return ret ?: len;
}

static const struct file_operations rknpu_node_fops = {
	.owner = THIS_MODULE,
	.open = rknpu_node_open,
	.read = seq_read,
	.write = rknpu_node_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* The files are taken away before the driver frees what they show. */
void rknpu_debugfs_init(struct rknpu_device *ndev)
{
	struct rknpu_node_file *files;
	unsigned int i;
	umode_t mode;

	files = devm_kcalloc(ndev->dev, ARRAY_SIZE(rknpu_nodes), sizeof(*files), GFP_KERNEL);
	if (!files)
		return;
	ndev->debugfs = debugfs_create_dir("rknpu", NULL);
	ndev->procfs = rknpu_procfs_init();
	for (i = 0; i < ARRAY_SIZE(rknpu_nodes); i++) {
		files[i].ndev = ndev;
		files[i].node = &rknpu_nodes[i];
		mode = rknpu_nodes[i].store ? 0644 : 0444;
		debugfs_create_file(rknpu_nodes[i].name, mode, ndev->debugfs, &files[i],
				    &rknpu_node_fops);
		if (!rknpu_nodes[i].private)
			rknpu_procfs_add(ndev->procfs, rknpu_nodes[i].name, mode, &files[i]);
	}
}

void rknpu_debugfs_fini(struct rknpu_device *ndev)
{
	rknpu_procfs_fini(ndev->procfs);
	debugfs_remove(ndev->debugfs);
}
