/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors: bytes in one piece, in the heap of one rank. Any thread of any rank reads and changes
 * them at any time without a lock. Sizes and indices count bytes. The owner need not help; it may
 * sleep, compute or be stopped. On the caller's node a call accesses the memory directly; on
 * another node it takes one round trip for up to 944 bytes, and four for more, which pass through a
 * block of the owner's heap.
 *
 * Each call is linearizable: it takes effect at one moment between its begin and its end, and a
 * read returns the bytes of one moment. Push and pop at the end and an erase of the end change the
 * vector in place; every other change makes a new body, at the cost of a copy of the content. No
 * call waits for a dead process, nor for a stopped one longer than 2 ms plus 1 ns for each byte of
 * capacity. A process that is killed in a call leaves the vector as it was before the call or as it
 * would be after it, or at a step of the call where that says so.
 *
 * A call that fails changes nothing, returns the value stated below, and sets acp_errno():
 * ACP_ERR_MEMORY (no room in the owner's heap), ACP_ERR_STALE (no vector is there: it was
 * destroyed), ACP_ERR_ADDRESS (an address of no heap), ACP_ERR_ARGUMENT, ACP_ERR_PEER (the owner's
 * node is lost), ACP_ERR_UNSUPPORTED (heaps of size 0). Any thread may make every call; not from a
 * signal handler. */
#ifndef ACP_VECTOR_H
#define ACP_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A vector. Its address is valid on all ranks and may be sent to them. ga is ACP_GA_NULL for none.
 * Do not use a copy after it was destroyed or after acp_reset: it names the vector that is made at
 * the same address later. */
typedef struct {
    acp_ga_t ga;
} acp_vector_t;

/* A place in a vector: before the byte `index`, or behind the last byte. Changes of the vector do
 * not change it. vector.ga is ACP_GA_NULL after a failure. */
typedef struct {
    acp_vector_t vector;
    int64_t index;
} acp_vector_it_t;

/* A vector of `size` zero bytes on a rank, 0 .. acp_procs()-1; ga is ACP_GA_NULL after a
 * failure. */
ACP_API acp_vector_t acp_create_vector(size_t size, int rank);

/* Frees a vector. No rank may be using it. Returns 0 or -1. */
ACP_API int acp_destroy_vector(acp_vector_t vector);

/* Adds `size` bytes at the end; ptr may be NULL with size 0, here and below. acp_append_vector also
 * returns the index of the first of them, so several ranks can append records at once without a
 * lock. Returns 0 (the index) or -1. */
ACP_API int acp_push_back_vector(acp_vector_t vector, const void* ptr, size_t size);
ACP_API int64_t acp_append_vector(acp_vector_t vector, const void* ptr, size_t size);

/* Removes the last `size` bytes, or all if there are fewer. acp_take_back_vector also copies them
 * to `ptr`, in the order of the content, and returns their number; no two calls get the same bytes.
 * Returns 0 (the count) or -1. */
ACP_API int acp_pop_back_vector(acp_vector_t vector, size_t size);
ACP_API int64_t acp_take_back_vector(acp_vector_t vector, void* ptr, size_t size);

/* Copies up to `size` bytes from an index on, all of one moment. Returns the number of bytes
 * copied, 0 at the end; -1 with ACP_ERR_ARGUMENT for an index that is negative or behind the
 * end. */
ACP_API int64_t acp_read_vector(acp_vector_t vector, int64_t index, void* ptr, size_t size);

/* Replaces `size` bytes from an index, all at one moment, at the cost of a copy of the content
 * (acp_put to acp_at_vector writes in place, but other ranks may see a part of it). Returns 0, or
 * -1 with ACP_ERR_ARGUMENT when the range leaves the content. */
ACP_API int acp_write_vector(acp_vector_t vector, int64_t index, const void* ptr, size_t size);

/* Inserts bytes before an iterator; one behind the end means the end. Returns an iterator before
 * the first of them. */
ACP_API acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const void* ptr, size_t size);

/* Inserts the bytes between two iterators of one vector, of this or another one, before an
 * iterator. The call reads them at one moment and inserts them at a later one. ACP_ERR_ARGUMENT:
 * iterators of two vectors; end before start. */
ACP_API acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it,
                                                acp_vector_it_t start,
                                                acp_vector_it_t end);

/* Removes up to `size` bytes from an iterator on, or the bytes between two iterators. Returns the
 * (first) iterator. */
ACP_API acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);
ACP_API acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);

/* Replaces the content by that of another vector, or by the bytes between two iterators of another
 * vector. The call reads them at one moment and assigns them at a later one. It shrinks a capacity
 * of more than four times the content. Return 0 or -1. */
ACP_API int acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);
ACP_API int acp_assign_range_vector(acp_vector_t vector,
                                    acp_vector_it_t start,
                                    acp_vector_it_t end);

/* Exchanges the contents of two vectors; each stays on its rank. The call makes three steps, which
 * other ranks may see: it appends the content of vector1 to vector2, replaces the content of
 * vector1 by the old content of vector2, and erases that from vector2. So no byte is lost when the
 * process is killed between two steps, and bytes that other ranks push to the back during the call
 * stay where they were pushed. No rank may change either vector in another way during the call, for
 * instance take, erase or swap: bytes could be doubled or lost. Needs room for both contents in the
 * heap of vector2's owner. After a failure both are as before; where there is no room for that,
 * vector2 holds the contents of both. Returns 0 or -1. */
ACP_API int acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);

/* Removes all bytes; the capacity stays. Returns 0 or -1. */
ACP_API int acp_clear_vector(acp_vector_t vector);

/* Raises the capacity to `size` bytes, so that pushes up to that size copy nothing. Never lowers
 * it. Returns 0 or -1. */
ACP_API int acp_reserve_vector(acp_vector_t vector, size_t size);

/* The number of bytes, and the capacity in bytes; (size_t)-1 after a failure. acp_empty_vector: 1
 * when there are none, else 0; -1 after a failure. */
ACP_API size_t acp_size_vector(acp_vector_t vector);
ACP_API size_t acp_capacity_vector(acp_vector_t vector);
ACP_API int acp_empty_vector(acp_vector_t vector);

/* The address of a byte, for copies and atomics in place; ACP_GA_NULL with ACP_ERR_ARGUMENT when
 * the index is outside the content. The address is valid until the vector gets a new body: by a
 * push beyond its capacity, an insert, erase, write, assign, swap or reserve of any rank, or when
 * another call has copied the content to new memory because a process was suspended within a push,
 * pop or read. A write to an old address may overwrite a block of another owner. */
ACP_API acp_ga_t acp_at_vector(acp_vector_t vector, int64_t index);
ACP_API acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);

/* The first place, and that behind the last byte. acp_begin_vector does not communicate and checks
 * nothing. */
ACP_API acp_vector_it_t acp_begin_vector(acp_vector_t vector);
ACP_API acp_vector_it_t acp_end_vector(acp_vector_t vector);

/* The iterator n bytes further on, and the number of bytes between two iterators. They check
 * nothing and cannot fail. */
ACP_API acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int64_t n);
ACP_API int64_t acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

#ifdef __cplusplus
}
#endif

#endif
