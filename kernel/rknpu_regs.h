/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Registers of one RKNPU core that the driver programs, and those of the
 * IOMMU banks inside the window of a core. Offsets are relative to the
 * window; fields are plain masks, so that C and C++ can share the file.
 *
 * Names follow the public register lists. "Vendor" marks facts that are
 * known from the behaviour of driver 0.9.8 only.
 */
#ifndef __RKNPU_REGS_H__
#define __RKNPU_REGS_H__

/* Program controller */
#define PC_VERSION				0x0000
#define PC_VERSION_NUM				0x0004
#define PC_VERSION_NUM_MASK			0x0000ffff

#define PC_OPERATION_ENABLE			0x0008
#define PC_OPERATION_ENABLE_OP_EN		0x00000001

/* Bit 0 selects register writes by the CPU; else the address of a command stream. */
#define PC_BASE_ADDRESS				0x0010
#define PC_BASE_ADDRESS_SLAVE			0x00000001
#define PC_BASE_ADDRESS_SOURCE_ADDR		0xfffffff0

#define PC_REGISTER_AMOUNTS			0x0014
#define PC_REGISTER_AMOUNTS_DATA_AMOUNT		0x0000ffff

#define PC_INTERRUPT_MASK			0x0020
#define PC_INTERRUPT_CLEAR			0x0024
#define PC_INTERRUPT_STATUS			0x0028
#define PC_INTERRUPT_RAW_STATUS			0x002c

/* Completion interrupts come in pairs: register group 0, register group 1. */
#define PC_INTERRUPT_CNA_FEATURE_0		0x00000001
#define PC_INTERRUPT_CNA_FEATURE_1		0x00000002
#define PC_INTERRUPT_CNA_WEIGHT_0		0x00000004
#define PC_INTERRUPT_CNA_WEIGHT_1		0x00000008
#define PC_INTERRUPT_CNA_CSC_0			0x00000010
#define PC_INTERRUPT_CNA_CSC_1			0x00000020
#define PC_INTERRUPT_CORE_0			0x00000040
#define PC_INTERRUPT_CORE_1			0x00000080
#define PC_INTERRUPT_DPU_0			0x00000100
#define PC_INTERRUPT_DPU_1			0x00000200
#define PC_INTERRUPT_PPU_0			0x00000400
#define PC_INTERRUPT_PPU_1			0x00000800
#define PC_INTERRUPT_DMA_READ_ERROR		0x00001000
#define PC_INTERRUPT_DMA_WRITE_ERROR		0x00002000
#define PC_INTERRUPT_COMPLETION			0x00000fff
#define PC_INTERRUPT_GROUP_0			0x00000555
#define PC_INTERRUPT_GROUP_1			0x00000aaa
#define PC_INTERRUPT_DMA_ERROR			0x00003000
#define PC_INTERRUPT_ALL			0x0001ffff

/*
 * With TASK_NUMBER_BITS = 12: number [11:0], then the control bits below.
 * With 16 the control bits move up by four.
 */
#define PC_TASK_CON				0x0030
#define PC_TASK_CON_PP_EN			0x1
#define PC_TASK_CON_COUNT_CLEAR			0x2
#define PC_TASK_CON_RESERVED_SET		0x4	/* vendor: always set */

#define PC_TASK_DMA_BASE_ADDR			0x0034

/* Finished tasks; where it lies depends on the chip. */
#define PC_TASK_STATUS				0x003c
#define PC_TASK_STATUS_V2			0x0048

/* Ping-pong pointers of the convolution front end and of the core */
#define CNA_S_POINTER				0x1004
#define CNA_RK3576_INIT				0x1024	/* vendor: state init only */
#define CNA_RK3576_INIT_VALUE			0x80000000
#define CORE_S_POINTER				0x3004
#define S_POINTER_POINTER			0x00000001
#define S_POINTER_POINTER_PP_EN			0x00000002
#define S_POINTER_EXECUTER_PP_EN		0x00000004
#define S_POINTER_POINTER_PP_MODE		0x00000008
#define S_POINTER_EXECUTER_PP_CLEAR		0x00000010
#define S_POINTER_CORE_SHIFT			28	/* vendor: index of the core */

/* IOMMU banks (rockchip v2): core 0 has both, other cores the second one */
#define IOMMU_BANK0				0x9000
#define IOMMU_BANK1				0xa000
#define IOMMU_BANK_SIZE				0x0100
#define IOMMU_DTE_ADDR				0x00
#define IOMMU_STATUS				0x04
#define IOMMU_COMMAND				0x08
#define IOMMU_PAGE_FAULT_ADDR			0x0c
#define IOMMU_ZAP_ONE_LINE			0x10
#define IOMMU_INT_RAWSTAT			0x14
#define IOMMU_INT_CLEAR				0x18
#define IOMMU_INT_MASK				0x1c
#define IOMMU_INT_STATUS			0x20
#define IOMMU_AUTO_GATING			0x24

#endif /* __RKNPU_REGS_H__ */
