/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors: bytes in one piece, in the heap of one rank, that any thread of any rank reads and
 * changes at once without a lock. Sizes and indices count bytes. The owner need not help; it may
 * sleep, compute or be stopped. On the caller's node a call runs at once; for another node it takes
 * one round trip for up to 952 bytes, and four for more, which a block of the owner's heap carries.
 *
 * Each call takes effect at one moment between its beginning and its end, also beside others; a
 * read is of one moment. To push and to pop at an end and to erase the end change the vector in
 * place; all else that changes it makes a new body, at the cost of a copy of the content. No call
 * waits for a process that is dead, and none for a stopped one longer than 2 ms and a ns for each
 * byte of capacity. A process that is killed in a call leaves the vector as it was before the call
 * or as it would be after it, or at a step of the call where that says so.
 *
 * Calls that fail change nothing, return what is said here, and set acp_errno(): ACP_ERR_MEMORY (no
 * room in the owner's heap), ACP_ERR_STALE (no vector is there: it was destroyed), ACP_ERR_ADDRESS
 * (an address of no heap), ACP_ERR_ARGUMENT, ACP_ERR_PEER (the owner's node is lost),
 * ACP_ERR_UNSUPPORTED (heaps of size 0). Any thread may make every call; not from a signal
 * handler. */
#ifndef ACP_VECTOR_H
#define ACP_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A vector, for all ranks: its address may be sent to others. ga is ACP_GA_NULL where there is
 * none. Drop every copy when it was destroyed, and at acp_reset: an old one names the vector that
 * is made at the same address later. */
typedef struct {
    acp_ga_t ga;
} acp_vector_t;

/* A place in a vector: before the byte `index`, or behind the last one. It stays what it is when
 * the vector changes. vector.ga is ACP_GA_NULL after a failure. */
typedef struct {
    acp_vector_t vector;
    int64_t index;
} acp_vector_it_t;

/* A vector of `size` zero bytes on a rank, 0 .. acp_procs()-1; ga is ACP_GA_NULL after a
 * failure. */
ACP_API acp_vector_t acp_create_vector(size_t size, int rank);

/* Frees a vector. Nobody may be using it any more. Returns 0 or -1. */
ACP_API int acp_destroy_vector(acp_vector_t vector);

/* Adds `size` bytes at the end; ptr may be NULL with size 0, here and below. acp_append_vector
 * tells the index where they begin: room that many ranks take without a lock, filled at once.
 * Returns 0 (the index) or -1. */
ACP_API int acp_push_back_vector(acp_vector_t vector, const void* ptr, size_t size);
ACP_API int64_t acp_append_vector(acp_vector_t vector, const void* ptr, size_t size);

/* Removes the last `size` bytes, or all if there are fewer. acp_take_back_vector hands them out in
 * the order of the content, so that no two calls get the same bytes; it returns how many they were.
 * Returns 0 (the count) or -1. */
ACP_API int acp_pop_back_vector(acp_vector_t vector, size_t size);
ACP_API int64_t acp_take_back_vector(acp_vector_t vector, void* ptr, size_t size);

/* Copies up to `size` bytes from an index; what a call reads is of one moment. Returns how many
 * there were, 0 at the end; -1 with ACP_ERR_ARGUMENT for an index that is negative or behind the
 * end. */
ACP_API int64_t acp_read_vector(acp_vector_t vector, int64_t index, void* ptr, size_t size);

/* Replaces `size` bytes from an index, all at one moment, at the cost of a copy of the content
 * (acp_put to acp_at_vector writes in place, but others may see a part of it). Returns 0, or -1
 * with ACP_ERR_ARGUMENT where they are not all there. */
ACP_API int acp_write_vector(acp_vector_t vector, int64_t index, const void* ptr, size_t size);

/* Inserts bytes before an iterator; one behind the end means the end. Returns an iterator before
 * the first of them. */
ACP_API acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const void* ptr, size_t size);

/* Inserts the bytes between two iterators of one vector, of this or another one, before an
 * iterator. They are read at one moment and inserted at another. ACP_ERR_ARGUMENT: iterators of two
 * vectors; end before start. */
ACP_API acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it,
                                                acp_vector_it_t start,
                                                acp_vector_it_t end);

/* Removes up to `size` bytes from an iterator, or those between two. Returns the (first)
 * iterator. */
ACP_API acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);
ACP_API acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);

/* Makes the content that of another vector, or of the bytes between two iterators of another one.
 * It is read at one moment and assigned at another. Capacity that is more than four times what is
 * needed is given back. Return 0 or -1. */
ACP_API int acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);
ACP_API int acp_assign_range_vector(acp_vector_t vector,
                                    acp_vector_it_t start,
                                    acp_vector_it_t end);

/* Exchanges the contents of two vectors; each stays on its rank. In three steps that others may
 * see: what vector1 holds is appended to vector2, what vector2 held is put in its place, and is
 * then erased from vector2. So a process that is killed in between loses no byte, and what others
 * push to the back meanwhile stays where they pushed it. Nobody may change either in another way
 * meanwhile, as by taking, erasing or another swap: then bytes may be doubled or lost. Needs room
 * for both contents in the heap of vector2's owner. After a failure both are as before; where there
 * is no room for that, vector2 holds the contents of both. Returns 0 or -1. */
ACP_API int acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);

/* Removes all bytes; the capacity stays. Returns 0 or -1. */
ACP_API int acp_clear_vector(acp_vector_t vector);

/* Takes room for `size` bytes in all, so that no push up to it copies. Never less than before.
 * Returns 0 or -1. */
ACP_API int acp_reserve_vector(acp_vector_t vector, size_t size);

/* How many bytes there are, and have room; (size_t)-1 after a failure. acp_empty_vector: 1 when
 * there are none, else 0; -1 after a failure. */
ACP_API size_t acp_size_vector(acp_vector_t vector);
ACP_API size_t acp_capacity_vector(acp_vector_t vector);
ACP_API int acp_empty_vector(acp_vector_t vector);

/* The address of a byte, for copies and atomics in place; ACP_GA_NULL with ACP_ERR_ARGUMENT when it
 * is not there. It is valid until the vector gets a new body: by a push beyond its capacity, an
 * insert, erase, write, assign, swap or reserve by anybody, or when a process was suspended within
 * a push, pop or read and another call, to go on without it, has copied the content to new memory.
 * Writing to an old address may then overwrite memory that belongs to something else. */
ACP_API acp_ga_t acp_at_vector(acp_vector_t vector, int64_t index);
ACP_API acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);

/* The first place, and that behind the last byte. acp_begin_vector makes no communication and looks
 * at nothing. */
ACP_API acp_vector_it_t acp_begin_vector(acp_vector_t vector);
ACP_API acp_vector_it_t acp_end_vector(acp_vector_t vector);

/* An iterator n bytes on, and the bytes from one to another. They look at nothing and cannot
 * fail. */
ACP_API acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int64_t n);
ACP_API int64_t acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

#ifdef __cplusplus
}
#endif

#endif
