# SPDX-License-Identifier: MIT
# Read a kernel log; print each line that no healthy run contains. IOMMU messages count only where
# no test announced them.
/rknpu-vm: expect-fault on/ { expected = 1; next }
/rknpu-vm: expect-fault off/ { expected = 0; next }
/Page fault at|rk_iommu.*(timed out|[Ee]rror)/ { if (!expected) print; next }
/BUG:|WARNING:|Oops|Internal error|Kernel panic|Unable to handle|[Cc]all trace:/ { print; next }
/KASAN|UBSAN:|KFENCE|KCSAN|kmemleak:.*(new|suspected)|unreferenced object|ODEBUG:|DMA-API:/ { print; next }
/possible (circular|recursive|irq lock)|lockdep|suspicious RCU|lock held when returning/ { print; next }
/rcu:.*(stall|detected)|self-detected stall|soft lockup|hard LOCKUP|blocked for more than/ { print; next }
/scheduling while atomic|sleeping function called|refcount_t:|list_(add|del).*corruption/ { print; next }
/nobody cared|Misaligned patch-site|general protection|Out of memory|page allocation failure/ { print; next }
/segfault|unhandled (level|exception|signal)|memory manager not clean|leaked/ { print; next }
