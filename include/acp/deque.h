/* SPDX-License-Identifier: BSD-3-Clause */
/* Deques: bytes in at most two pieces, in the heap of one rank, that any thread of any rank reads
 * and changes at once without a lock. Sizes and indices count bytes. A deque is a queue of work for
 * many ranks: acp_push_back_deque adds, acp_take_front_deque hands out. The owner need not help; it
 * may sleep, compute or be stopped. On the caller's node a call runs at once; for another node it
 * takes one round trip for up to 952 bytes, and four for more, which a block of the owner's heap
 * carries.
 *
 * Each call takes effect at one moment between its beginning and its end, also beside others; a
 * read is of one moment. To push and to pop at either end and to erase the end change the deque in
 * place; all else that changes it makes a new body, at the cost of a copy of the content. No call
 * waits for a process that is dead, and none for a stopped one longer than 2 ms and a ns for each
 * byte of capacity. A process that is killed in a call leaves the deque as it was before the call
 * or as it would be after it, or at a step of the call where that says so.
 *
 * Calls that fail change nothing, return what is said here, and set acp_errno(): ACP_ERR_MEMORY (no
 * room in the owner's heap), ACP_ERR_STALE (no deque is there: it was destroyed), ACP_ERR_ADDRESS
 * (an address of no heap), ACP_ERR_ARGUMENT, ACP_ERR_PEER (the owner's node is lost),
 * ACP_ERR_UNSUPPORTED (heaps of size 0). Any thread may make every call; not from a signal
 * handler. */
#ifndef ACP_DEQUE_H
#define ACP_DEQUE_H

#include <stddef.h>
#include <stdint.h>

#include <acp/element.h>
#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A deque, for all ranks: its address may be sent to others. ga is ACP_GA_NULL where there is none.
 * Drop every copy when it was destroyed, and at acp_reset: an old one names the deque that is made
 * at the same address later. */
typedef struct {
    acp_ga_t ga;
} acp_deque_t;

/* A place in a deque: before the byte `index`, or behind the last one. It stays what it is when the
 * deque changes. deque.ga is ACP_GA_NULL after a failure. */
typedef struct {
    acp_deque_t deque;
    int64_t index;
} acp_deque_it_t;

/* An empty deque with room for `size` bytes on a rank, 0 .. acp_procs()-1; ga is ACP_GA_NULL after
 * a failure. */
ACP_API acp_deque_t acp_create_deque(size_t size, int rank);

/* Frees a deque. Nobody may be using it any more. Returns 0 or -1. */
ACP_API int acp_destroy_deque(acp_deque_t deque);

/* Adds `size` bytes at the end, or before the first byte, in their order; ptr may be NULL with size
 * 0, here and below. acp_append_deque adds at the end and tells the index where they begin. Returns
 * 0 (the index) or -1. */
ACP_API int acp_push_back_deque(acp_deque_t deque, const void* ptr, size_t size);
ACP_API int acp_push_front_deque(acp_deque_t deque, const void* ptr, size_t size);
ACP_API int64_t acp_append_deque(acp_deque_t deque, const void* ptr, size_t size);

/* Removes the last or the first `size` bytes, or all if there are fewer. acp_take_... hands them
 * out in the order of the content, so that no two calls get the same bytes; it returns how many
 * they were, 0 of an empty deque. Returns 0 (the count) or -1. */
ACP_API int acp_pop_back_deque(acp_deque_t deque, size_t size);
ACP_API int acp_pop_front_deque(acp_deque_t deque, size_t size);
ACP_API int64_t acp_take_back_deque(acp_deque_t deque, void* ptr, size_t size);
ACP_API int64_t acp_take_front_deque(acp_deque_t deque, void* ptr, size_t size);

/* Copies up to `size` bytes from an index; what a call reads is of one moment. Returns how many
 * there were, 0 at the end; -1 with ACP_ERR_ARGUMENT for an index that is negative or behind the
 * end. */
ACP_API int64_t acp_read_deque(acp_deque_t deque, int64_t index, void* ptr, size_t size);

/* Replaces `size` bytes from an index, all at one moment, at the cost of a copy of the content
 * (acp_put to acp_at_deque writes in place, but others may see a part of it). Returns 0, or -1 with
 * ACP_ERR_ARGUMENT where they are not all there. */
ACP_API int acp_write_deque(acp_deque_t deque, int64_t index, const void* ptr, size_t size);

/* Inserts bytes before an iterator; one behind the end means the end. Returns an iterator before
 * the first of them. */
ACP_API acp_deque_it_t acp_insert_deque(acp_deque_it_t it, const void* ptr, size_t size);

/* Inserts the bytes between two iterators of one deque, of this or another one, before an iterator.
 * They are read at one moment and inserted at another. ACP_ERR_ARGUMENT: iterators of two deques;
 * end before start. */
ACP_API acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it,
                                              acp_deque_it_t start,
                                              acp_deque_it_t end);

/* Removes up to `size` bytes from an iterator, or those between two. Returns the (first)
 * iterator. */
ACP_API acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size);
ACP_API acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);

/* Makes the content that of another deque, or of the bytes between two iterators of another one. It
 * is read at one moment and assigned at another. Capacity that is more than four times what is
 * needed is given back. Return 0 or -1. */
ACP_API int acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2);
ACP_API int acp_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end);

/* Exchanges the contents of two deques; each stays on its rank. In three steps that others may see:
 * what deque1 holds is appended to deque2, what deque2 held is put in its place, and is then erased
 * from deque2. So a process that is killed in between loses no byte, and what others push to the
 * back meanwhile stays where they pushed it. Nobody may change either in another way meanwhile, as
 * by taking, erasing or another swap: then bytes may be doubled or lost. Needs room for both
 * contents in the heap of deque2's owner. After a failure both are as before; where there is no
 * room for that, deque2 holds the contents of both. Returns 0 or -1. */
ACP_API int acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2);

/* Removes all bytes; the capacity stays. Returns 0 or -1. */
ACP_API int acp_clear_deque(acp_deque_t deque);

/* Takes room for `size` bytes in all, so that no push up to it copies. Never less than before.
 * Returns 0 or -1. */
ACP_API int acp_reserve_deque(acp_deque_t deque, size_t size);

/* How many bytes there are, and have room; (size_t)-1 after a failure. acp_empty_deque: 1 when
 * there are none, else 0; -1 after a failure. */
ACP_API size_t acp_size_deque(acp_deque_t deque);
ACP_API size_t acp_capacity_deque(acp_deque_t deque);
ACP_API int acp_empty_deque(acp_deque_t deque);

/* The address of a byte, for copies and atomics in place; ACP_GA_NULL with ACP_ERR_ARGUMENT when it
 * is not there. It is valid until the deque gets a new body: by a push beyond its capacity, an
 * insert, erase, write, assign, swap or reserve by anybody, or when a process was suspended within
 * a push, pop or read and another call, to go on without it, has copied the content to new memory.
 * Writing to an old address may then overwrite memory that belongs to something else. */
ACP_API acp_ga_t acp_at_deque(acp_deque_t deque, int64_t index);

/* Where up to `size` bytes from an iterator, 1 or more, lie: in one piece, or in two where they go
 * around the end of the deque's memory. A second piece that is not needed, and both after a
 * failure, are ACP_GA_NULL and 0. ACP_ERR_ARGUMENT: no byte is at the iterator, or size is 0. They
 * are valid as long as an address of acp_at_deque. */
ACP_API acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size);

/* The first place, and that behind the last byte. acp_begin_deque makes no communication and looks
 * at nothing. */
ACP_API acp_deque_it_t acp_begin_deque(acp_deque_t deque);
ACP_API acp_deque_it_t acp_end_deque(acp_deque_t deque);

/* An iterator n bytes on, and the bytes from one to another. They look at nothing and cannot
 * fail. */
ACP_API acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int64_t n);
ACP_API int64_t acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last);

#ifdef __cplusplus
}
#endif

#endif
