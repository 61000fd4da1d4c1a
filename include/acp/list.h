/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists: elements of any length in an order, inserted, taken out, moved and read at any place by
 * any thread of any rank at once, without a lock. A list lives in the heap of one rank; each
 * element's bytes lie on the rank that its inserter names. The owners need not help; they may
 * sleep, compute or be stopped. On the caller's node a call runs at once; for a list of another
 * node it takes one round trip, and up to four more for an element of more than 960 bytes or on
 * another rank than the list.
 *
 * What is one step, at one moment between the beginning and the end of the call, also beside
 * others: push, pop, take, insert, erase, and splice within one list and between two lists of one
 * rank. Every element is then in exactly one list at every moment, and of many ranks that take
 * elements from one list each gets its own: a list is a work queue. All other calls that change a
 * list (clear, assign, ranges, merge, remove, reverse, sort, swap, unique) are sequences of such
 * steps: others may see the list between two of them and change it; what others insert meanwhile
 * may be passed over, what they erase is. Between lists of two ranks an element is moved by a copy,
 * which is in the new list before the old element is erased.
 *
 * No call waits for a process that is stopped or dead. A process that is killed in a call leaves
 * the step it was at done or not done; what it held is freed by those that live. Only a block for
 * an element on another rank than the list may stay allocated, if the process was not on the node
 * of both.
 *
 * Where the bytes of an element are on a rank that is lost (dead, and not on the caller's node),
 * acp_take_... and acp_read_list fail with ACP_ERR_PEER and the element stays in the list.
 * acp_pop_..., acp_erase_list and acp_destroy_list do without the bytes.
 *
 * An iterator stays valid as long as its element is in the list, whatever happens to other
 * elements; acp_end_list's stays valid as long as the list exists. A call with an iterator whose
 * element was erased, or moved to another list, fails with ACP_ERR_STALE.
 *
 * Calls that fail change nothing (sequences of steps: nothing further), return what is said here,
 * and set acp_errno(): ACP_ERR_MEMORY (no room in a heap), ACP_ERR_STALE (no list is there, or no
 * such element any more), ACP_ERR_ADDRESS (an address of no heap), ACP_ERR_ARGUMENT, ACP_ERR_PEER
 * (the node of a rank is lost), ACP_ERR_UNSUPPORTED (heaps of size 0). Any thread may make every
 * call; not from a signal handler. Nobody may use a list while it is destroyed. */
#ifndef ACP_LIST_H
#define ACP_LIST_H

#include <stddef.h>
#include <stdint.h>

#include <acp/element.h>
#include <acp/error.h>
#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A list, for all ranks: its address may be sent to others. ga is ACP_GA_NULL where there is none.
 * Drop every copy when it was destroyed, and at acp_reset: an old one names the list that is made
 * at the same address later. */
typedef struct {
    acp_ga_t ga;
} acp_list_t;

/* A place in a list: at an element, or at the end, where elem is list.ga. elem is ACP_GA_NULL after
 * a failure. May be sent to other ranks as it is; `stamp` is the library's. */
typedef struct {
    acp_list_t list;
    acp_ga_t elem;
    uint64_t stamp;
} acp_list_it_t;

/* < 0, 0 or > 0 where one is to stand before, beside or behind the other. Gets where the bytes are;
 * reads them itself, by acp_query_address or acp_get. Must not change the lists. */
typedef int (*acp_list_compare_t)(const acp_element_t one, const acp_element_t other);

/* An empty list on a rank, 0 .. acp_procs()-1; ga is ACP_GA_NULL after a failure. */
ACP_API acp_list_t acp_create_list(int rank);

/* Frees a list and its elements. Returns 0 or -1. */
ACP_API int acp_destroy_list(acp_list_t list);

/* Adds a copy of `size` bytes at an end.
 *   ptr   may be NULL with size 0, here and below
 *   rank  on whose heap the bytes are to lie; that of the list takes least time
 * Returns 0 or -1. */
ACP_API int acp_push_back_list(acp_list_t list, const void* ptr, size_t size, int rank);
ACP_API int acp_push_front_list(acp_list_t list, const void* ptr, size_t size, int rank);

/* Removes the element at an end. Returns 0, also for an empty list; or -1. */
ACP_API int acp_pop_back_list(acp_list_t list);
ACP_API int acp_pop_front_list(acp_list_t list);

/* Removes the element at an end and hands out its bytes: each element goes to one caller. Returns
 * how many bytes it had; ACP_NONE where there is none, which is no failure; or -1.
 * ACP_ERR_TRUNCATED, as of a channel's message: the element had more than `size` bytes; it is
 * removed, `ptr` has the first `size` of them, and the rest is lost. */
ACP_API int64_t acp_take_back_list(acp_list_t list, void* ptr, size_t size);
ACP_API int64_t acp_take_front_list(acp_list_t list, void* ptr, size_t size);

/* Puts a copy of `size` bytes before a place, on the heap of `rank`. Returns the place of the new
 * element. */
ACP_API acp_list_it_t acp_insert_list(acp_list_it_t it, const void* ptr, size_t size, int rank);

/* Puts copies of the elements from `start` up to `end` before a place, each on the rank of its
 * original. Returns the place of the first one; it, where there are none. */
ACP_API acp_list_it_t acp_insert_range_list(acp_list_it_t it,
                                            acp_list_it_t start,
                                            acp_list_it_t end);

/* Removes an element, or those from `start` up to `end`. Returns the place behind;
 * ACP_ERR_ARGUMENT: `it` is the end. */
ACP_API acp_list_it_t acp_erase_list(acp_list_it_t it);
ACP_API acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);

/* Removes all elements that there are when the call begins. Returns 0 or -1. */
ACP_API int acp_clear_list(acp_list_t list);

/* Makes a list one of copies of the elements of another, or of those from `start` up to `end`, each
 * on the rank of its original. Returns 0 or -1. */
ACP_API int acp_assign_list(acp_list_t list1, acp_list_t list2);
ACP_API int acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end);

/* Moves an element, or those from `start` up to `end`, before `it`, of the same or another list.
 * Within a list iterators stay valid. Returns 0, or -1: ACP_ERR_ARGUMENT where `it` is in the
 * range. */
ACP_API int acp_splice_list(acp_list_it_t it, acp_list_it_t element);
ACP_API int acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);

/* Moves the elements of list2 into list1; both are sorted, and so is list1 then. Of equal ones
 * those of list1 come first. */
ACP_API int acp_merge_list(acp_list_t list1, acp_list_t list2, acp_list_compare_t compare);

/* Removes every element that has these bytes; every element that has the bytes of the one before
 * it. */
ACP_API int acp_remove_list(acp_list_t list, const void* ptr, size_t size);
ACP_API int acp_unique_list(acp_list_t list);

/* Reverses the order; sorts, and leaves equal elements in their order; exchanges what two lists
 * hold. Iterators stay valid but those of acp_swap_list. Return 0 or -1, as the four above. */
ACP_API int acp_reverse_list(acp_list_t list);
ACP_API int acp_sort_list(acp_list_t list, acp_list_compare_t compare);
ACP_API int acp_swap_list(acp_list_t list1, acp_list_t list2);

/* Whether a list is empty: 1, 0, or -1 after a failure; how many elements it has: (size_t)-1 after
 * a failure. */
ACP_API int acp_empty_list(acp_list_t list);
ACP_API size_t acp_size_list(acp_list_t list);

/* The place of the first element, and the end: acp_end_list does not look whether the list is
 * there. */
ACP_API acp_list_it_t acp_begin_list(acp_list_t list);
ACP_API acp_list_it_t acp_end_list(acp_list_t list);

/* The next place; the end stays. The one before; the first element stays. n places on, or back
 * where n < 0, but no further than those. */
ACP_API acp_list_it_t acp_increment_list_it(acp_list_it_t it);
ACP_API acp_list_it_t acp_decrement_list_it(acp_list_it_t it);
ACP_API acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);

/* How many steps lead from `first` to `last`; -1 with ACP_ERR_ARGUMENT where they are of different
 * lists or `last` is not behind. */
ACP_API int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);

/* Where an element's bytes are, aligned to 8: they stay there until it is erased or moved to
 * another rank's list, and may be read and written in place by copies and atomics. ga is
 * ACP_GA_NULL after a failure. */
ACP_API acp_element_t acp_dereference_list_it(acp_list_it_t it);

/* Copies an element's first bytes, at most `size`: what it held while it was in the list. Returns
 * how many it has, or -1. */
ACP_API int64_t acp_read_list(acp_list_it_t it, void* ptr, size_t size);

#ifdef __cplusplus
}
#endif

#endif
