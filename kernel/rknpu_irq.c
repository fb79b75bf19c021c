// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#include "rknpu_device.h"
#include "rknpu_irq.h"
#include "rknpu_job.h"

/**
 * DOC: Interrupts
 *
 * One line per core. They are requested once, so what the administrator writes
 * to /proc/irq stays over power cycles. The lines start on different CPUs;
 * two module parameters choose others:
 *
 * irq_cpus: a list of CPUs; core n starts on the n-th of them.
 *
 * irq_follow: whenever a core is started, its line goes to the CPU that
 * submitted the job. The waiting program is then woken without another CPU
 * being interrupted. What the administrator writes holds until the next job.
 */

static char *rknpu_irq_cpus;
module_param_named(irq_cpus, rknpu_irq_cpus, charp, 0444);
MODULE_PARM_DESC(irq_cpus, "CPUs for the interrupts of the cores, as a list (default: spread)");

bool rknpu_irq_follows;
module_param_named(irq_follow, rknpu_irq_follows, bool, 0644);
MODULE_PARM_DESC(irq_follow, "interrupts go to the CPU that submitted the job (default: no)");

static int rknpu_irq_find(struct rknpu_device *ndev, struct rknpu_core *core)
{
	struct platform_device *pdev = to_platform_device(core->dev);
	char name[16];
	int irq;

	if (rknpu_is_split(ndev))
		return platform_get_irq_optional(pdev, 0);
	if (ndev->soc->num_cores == 1)
		strscpy(name, "npu_irq", sizeof(name));
	else
		snprintf(name, sizeof(name), "npu%u_irq", core->index);
	irq = platform_get_irq_byname_optional(pdev, name);
	if (irq == -EPROBE_DEFER)
		return irq;
	if (irq < 0)
		irq = platform_get_irq_optional(pdev, core->index);
	return irq;
}

/* The CPUs to choose from, none of them offline. */
static int rknpu_irq_choice(struct rknpu_device *ndev, struct cpumask *mask)
{
	int ret;

	cpumask_copy(mask, cpu_online_mask);
	if (!rknpu_irq_cpus || !rknpu_irq_cpus[0])
		return 0;
	ret = cpulist_parse(rknpu_irq_cpus, mask);
	cpumask_and(mask, mask, cpu_online_mask);
	if (ret || cpumask_empty(mask))
		return dev_err_probe(ndev->dev, -EINVAL,
				     "parameter irq_cpus=%s names no CPU that is online: give a list as in 4-7\n",
				     rknpu_irq_cpus);
	return 0;
}

static void rknpu_irq_drop_hint(void *data)
{
	struct rknpu_core *core = data;

	irq_set_affinity_hint(core->irq, NULL);
}

/* Only a start: nothing here comes back to it. */
static int rknpu_irq_place(struct rknpu_device *ndev, struct rknpu_core *core,
			   const struct cpumask *choice)
{
	unsigned int cpu = cpumask_first(choice), n = core->index % cpumask_weight(choice);

	while (n--)
		cpu = cpumask_next(cpu, choice);
	core->irq_cpu = cpu;
	irq_set_affinity_hint(core->irq, cpumask_of(cpu));
	return devm_add_action_or_reset(ndev->dev, rknpu_irq_drop_hint, core);
}

static int rknpu_irq_request(struct rknpu_device *ndev, struct rknpu_core *core)
{
	const char *name;
	int ret;

	core->irq = rknpu_irq_find(ndev, core);
	if (core->irq < 0)
		return dev_err_probe(ndev->dev, core->irq, "interrupts: none for core %u\n",
				     core->index);
	name = devm_kasprintf(ndev->dev, GFP_KERNEL, "%s-core%u", dev_name(ndev->dev),
			      core->index);
	if (!name)
		return -ENOMEM;
	ret = devm_request_irq(ndev->dev, core->irq, rknpu_job_irq, IRQF_SHARED, name, core);
	return ret ? dev_err_probe(ndev->dev, ret, "interrupts: cannot get line %d of core %u\n",
				   core->irq, core->index) : 0;
}

/**
 * rknpu_irq_init() - request the interrupt lines
 * @ndev: the NPU
 *
 * They are live from here on; nothing is powered, so none is ours yet.
 *
 * Return: 0 or a negative error code
 */
int rknpu_irq_init(struct rknpu_device *ndev)
{
	struct rknpu_core *core;
	cpumask_var_t choice;
	int ret;

	if (!zalloc_cpumask_var(&choice, GFP_KERNEL))
		return -ENOMEM;
	ret = rknpu_irq_choice(ndev, choice);
	rknpu_for_each_core(core, ndev, ~0) {
		if (!ret)
			ret = rknpu_irq_request(ndev, core);
		if (!ret)
			ret = rknpu_irq_place(ndev, core, choice);
	}
	free_cpumask_var(choice);
	return ret;
}

/* The IOMMU's driver frees the lines at shutdown, and they may have no hint then. */
void rknpu_irq_shutdown(struct rknpu_device *ndev)
{
	struct rknpu_core *core;

	rknpu_for_each_core(core, ndev, ~0)
		irq_set_affinity_hint(core->irq, NULL);
}

/* From now on the line of @core goes to @cpu; called with job_lock held. */
void rknpu_irq_move(struct rknpu_core *core, unsigned int cpu)
{
	lockdep_assert_held(&core->ndev->job_lock);

	if (core->irq_cpu == cpu || !cpu_online(cpu))
		return;
	core->irq_cpu = cpu;
	irq_set_affinity_hint(core->irq, cpumask_of(cpu));
}
