/* SPDX-License-Identifier: GPL-2.0-only */
/* Host stand-in: the few list operations the policy uses, same names and meaning. */
#ifndef RKNPU_SHIM_LIST_H
#define RKNPU_SHIM_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add(struct list_head *item, struct list_head *after)
{
	item->prev = after;
	item->next = after->next;
	after->next->prev = item;
	after->next = item;
}

static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	list_add(item, head->prev);
}

static inline void list_del_init(struct list_head *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	INIT_LIST_HEAD(item);
}

#define list_entry(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* As in the kernel, not for const heads. */
#define list_first_entry_or_null(head, type, member) \
	({ \
		struct list_head *head_ = (head); \
		list_empty(head_) ? NULL : list_entry(head_->next, type, member); \
	})

#define list_for_each_entry(pos, head, member)                                       \
	for (pos = list_entry((head)->next, __typeof__(*pos), member);               \
	     &pos->member != (head);                                                 \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

#define list_for_each_entry_reverse(pos, head, member)                               \
	for (pos = list_entry((head)->prev, __typeof__(*pos), member);               \
	     &pos->member != (head);                                                 \
	     pos = list_entry(pos->member.prev, __typeof__(*pos), member))

#define list_for_each_entry_safe(pos, following, head, member)                       \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),               \
	    following = list_entry(pos->member.next, __typeof__(*pos), member);      \
	     &pos->member != (head);                                                 \
	     pos = following,                                                        \
	    following = list_entry(following->member.next, __typeof__(*following), member))

#endif
