/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists: ordered sequences of elements of any length. Any thread of any rank may insert, take, move
 * and read elements at any place at the same time, without a lock. A list lives in the heap of one
 * rank; each element's bytes lie on the rank that the inserting call names. The owners need not
 * help; they may sleep, compute or be stopped. On the caller's node a call accesses the memory
 * directly; for a list of another node it takes one round trip, and up to four more for an element
 * of more than 960 bytes or on another rank than the list.
 *
 * Linearizable calls are push, pop, take, insert, erase, and splice of one element within one list
 * and between two lists of one rank: each takes effect in one step, at one moment between its begin
 * and its end. So every element is in exactly one list at every moment, and exactly one
 * acp_take_... gets an element: a list is a work queue. All other calls that change a list (clear,
 * assign, ranges, merge, remove, reverse, sort, swap, unique) are sequences of such steps. Other
 * threads may see and change the list between two steps; the call skips elements that they erase,
 * and may skip elements that they insert. A splice between lists of two ranks takes the element out
 * of one list and inserts a copy into the other; between the two steps it is in neither list.
 *
 * No call waits for a process that is stopped or dead. When a process is killed in a call, the
 * current step of that call either has taken effect or never will; other processes free the memory
 * that the dead process held. Only a block for an element on another rank than the list may stay
 * allocated, if the process was not on the node of both.
 *
 * When the bytes of an element are on a rank whose node is lost, acp_take_... and acp_read_list
 * fail with ACP_ERR_PEER and the element stays in the list.
 * acp_pop_..., acp_erase_list and acp_destroy_list do not need the bytes and succeed.
 *
 * An iterator stays valid as long as its element is in the list; the iterator of acp_end_list as
 * long as the list exists. A call with an iterator whose element was erased, or moved to another
 * list, fails with ACP_ERR_STALE.
 *
 * A call that fails changes nothing (a sequence of steps: nothing further), returns the value
 * stated below, and sets acp_errno(): ACP_ERR_MEMORY (no room in a heap), ACP_ERR_STALE (the
 * address holds no list, or the element was erased or moved), ACP_ERR_ADDRESS (an address of no
 * heap), ACP_ERR_ARGUMENT, ACP_ERR_PEER (the node of a rank is lost), ACP_ERR_UNSUPPORTED (heaps of
 * size 0). Any thread may make every call; not from a signal handler. No thread may use a list
 * while another one destroys it. */
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

/* A list. Its address is valid on all ranks and may be sent to them. ga is ACP_GA_NULL for no list.
 * Do not use a copy after the list was destroyed or after acp_reset: it names a list that is made
 * at the same address later. */
typedef struct {
    acp_ga_t ga;
} acp_list_t;

/* A place in a list: at an element, or at the end, where elem is list.ga. elem is ACP_GA_NULL after
 * a failure. It may be sent to other ranks as it is; `stamp` belongs to the library. */
typedef struct {
    acp_list_t list;
    acp_ga_t elem;
    uint64_t stamp;
} acp_list_it_t;

/* Compares two elements: < 0, 0 or > 0 when `one` sorts before `other`, equal to it or after it. It
 * gets the addresses of the bytes and reads them itself, by acp_query_address or acp_get. It must
 * not change the lists. */
typedef int (*acp_list_compare_t)(const acp_element_t one, const acp_element_t other);

/* An empty list on a rank, 0 .. acp_procs()-1; ga is ACP_GA_NULL after a failure. */
ACP_API acp_list_t acp_create_list(int rank);

/* Frees a list and its elements. Returns 0 or -1. */
ACP_API int acp_destroy_list(acp_list_t list);

/* Adds a copy of `size` bytes at an end.
 *   ptr   may be NULL with size 0, here and below
 *   rank  the rank whose heap holds the bytes; the list's own rank is fastest
 * Returns 0 or -1. */
ACP_API int acp_push_back_list(acp_list_t list, const void* ptr, size_t size, int rank);
ACP_API int acp_push_front_list(acp_list_t list, const void* ptr, size_t size, int rank);

/* Removes the element at an end. Returns 0, also for an empty list; or -1. */
ACP_API int acp_pop_back_list(acp_list_t list);
ACP_API int acp_pop_front_list(acp_list_t list);

/* Removes the element at an end and copies its bytes to `ptr`; exactly one call gets an element.
 * Returns the number of bytes that the element had; ACP_NONE for an empty list, which is no
 * failure; or -1. ACP_ERR_TRUNCATED: the element had more than `size` bytes; it is removed, `ptr`
 * has its first `size` bytes, and the rest is lost. */
ACP_API int64_t acp_take_back_list(acp_list_t list, void* ptr, size_t size);
ACP_API int64_t acp_take_front_list(acp_list_t list, void* ptr, size_t size);

/* Inserts a copy of `size` bytes before a place, in the heap of `rank`. Returns the place of the
 * new element. */
ACP_API acp_list_it_t acp_insert_list(acp_list_it_t it, const void* ptr, size_t size, int rank);

/* Inserts copies of the elements from `start` up to `end` before a place, each on the rank of its
 * original. Returns the place of the first copy; `it` when the range is empty. */
ACP_API acp_list_it_t acp_insert_range_list(acp_list_it_t it,
                                            acp_list_it_t start,
                                            acp_list_it_t end);

/* Removes an element, or the elements from `start` up to `end`. Returns the place behind;
 * ACP_ERR_ARGUMENT: `it` is the end. */
ACP_API acp_list_it_t acp_erase_list(acp_list_it_t it);
ACP_API acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);

/* Removes all elements that are in the list when the call begins. Returns 0 or -1. */
ACP_API int acp_clear_list(acp_list_t list);

/* Replaces the content of a list by copies of the elements of another list, or of the elements from
 * `start` up to `end`, each on the rank of its original. Returns 0 or -1. */
ACP_API int acp_assign_list(acp_list_t list1, acp_list_t list2);
ACP_API int acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end);

/* Moves an element, or the elements from `start` up to `end`, before `it`, in the same or another
 * list. Within a list iterators stay valid. acp_splice_list of an element before itself changes
 * nothing. Returns 0, or -1: acp_splice_range_list with ACP_ERR_ARGUMENT when `it` is in the
 * range. */
ACP_API int acp_splice_list(acp_list_it_t it, acp_list_it_t element);
ACP_API int acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);

/* Merges the sorted list2 into the sorted list1: list1 is sorted then, and list2 empty. Equal
 * elements of list1 come before those of list2. */
ACP_API int acp_merge_list(acp_list_t list1, acp_list_t list2, acp_list_compare_t compare);

/* acp_remove_list removes every element that has these bytes; acp_unique_list every element that
 * has the same bytes as the element before it. */
ACP_API int acp_remove_list(acp_list_t list, const void* ptr, size_t size);
ACP_API int acp_unique_list(acp_list_t list);

/* acp_reverse_list reverses the order. acp_sort_list sorts and is stable. acp_swap_list exchanges
 * the contents of two lists. Iterators stay valid, except after acp_swap_list. Return 0 or -1, as
 * the three above. */
ACP_API int acp_reverse_list(acp_list_t list);
ACP_API int acp_sort_list(acp_list_t list, acp_list_compare_t compare);
ACP_API int acp_swap_list(acp_list_t list1, acp_list_t list2);

/* acp_empty_list: 1 when the list is empty, else 0; -1 after a failure. acp_size_list: the number
 * of elements; (size_t)-1 after a failure. */
ACP_API int acp_empty_list(acp_list_t list);
ACP_API size_t acp_size_list(acp_list_t list);

/* The place of the first element, and the end. acp_end_list does not check that the list exists. */
ACP_API acp_list_it_t acp_begin_list(acp_list_t list);
ACP_API acp_list_it_t acp_end_list(acp_list_t list);

/* acp_increment: the next place; the end stays. acp_decrement: the place before; the first element
 * stays. acp_advance: n places forward, or backward for n < 0, at most to the end or the first
 * element. */
ACP_API acp_list_it_t acp_increment_list_it(acp_list_it_t it);
ACP_API acp_list_it_t acp_decrement_list_it(acp_list_it_t it);
ACP_API acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);

/* The number of steps from `first` to `last`; -1 with ACP_ERR_ARGUMENT when they are of different
 * lists or `last` comes before `first`. */
ACP_API int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);

/* The address of an element's bytes, aligned to 8. They stay there until the element is erased or
 * moved to another rank's list; copies and atomics may read and write them in place. ga is
 * ACP_GA_NULL after a failure. */
ACP_API acp_element_t acp_dereference_list_it(acp_list_it_t it);

/* Copies an element's first bytes, at most `size`, as they were while the element was in the list.
 * Returns the number of bytes that the element has, or -1. */
ACP_API int64_t acp_read_list(acp_list_it_t it, void* ptr, size_t size);

#ifdef __cplusplus
}
#endif

#endif
