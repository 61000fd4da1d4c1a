/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of any rank: any rank allocates blocks on any rank, and any rank frees them. Each rank has
 * a heap of its own, in memory that all ranks of its node have mapped. The owner need not help; it
 * may sleep, compute or be stopped. On the caller's node a call takes about as long as malloc, on
 * another node one round trip. When a process dies in the middle of an operation on a heap, another
 * process completes or undoes the operation; the blocks that the dead process had allocated stay.
 * Any thread may make every call; not from a signal handler. */
#ifndef ACP_HEAP_H
#define ACP_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block of `size` bytes on a rank. Its content is unspecified.
 *   size  0 is taken for 1; at most the heap's limit (acprun --heap-size, ACP_HEAP_SIZE)
 *   rank  0 .. acp_procs()-1
 * The block is aligned to 16 bytes. All ranks may use it at once in copies and atomics, like
 * starter memory, until it is freed or acp_reset or acp_finalize is called. acp_query_address gives
 * its pointer on the rank's node. Returns ACP_GA_NULL with ACP_ERR_MEMORY (no room),
 * ACP_ERR_ARGUMENT (rank), ACP_ERR_PEER (the rank's node is lost; the heap of a dead rank stays
 * usable while its node is not lost), ACP_ERR_UNSUPPORTED (heaps of size 0). Blocks for one round
 * trip when the rank is on another node; never waits for another process of the caller's node. */
ACP_API acp_ga_t acp_malloc(size_t size, int rank);

/* acp_malloc of count * size bytes that are zero. ACP_ERR_ARGUMENT where the product is beyond
 * size_t. */
ACP_API acp_ga_t acp_calloc(size_t count, size_t size, int rank);

/* acp_malloc with an alignment of global address and pointers: a power of two from 1 to 4096, else
 * ACP_ERR_ARGUMENT. */
ACP_API acp_ga_t acp_aligned_alloc(size_t alignment, size_t size, int rank);

/* Resizes the block `ga`: returns `ga` itself, or a new block of `size` bytes on the same rank with
 * the content up to the smaller of both sizes, and frees `ga`. No command may be using the block.
 * ACP_GA_NULL is as acp_malloc(size, acp_rank()). Returns ACP_GA_NULL as acp_malloc, or with
 * ACP_ERR_ADDRESS (no block begins there); the block is unchanged. An alignment above 16 is lost. */
ACP_API acp_ga_t acp_realloc(acp_ga_t ga, size_t size);

/* Frees a block that any rank allocated. All commands on the block must be complete. ACP_GA_NULL is
 * legal and does nothing. Returns 0, or -1 and changes nothing: ACP_ERR_STALE (freed before),
 * ACP_ERR_ADDRESS (no block begins there), ACP_ERR_PEER. When the heap has given the address to a
 * new block since, a second acp_free frees that one. */
ACP_API int acp_free(acp_ga_t ga);

/* acp_malloc and acp_free of several blocks: about a hundred of them take one round trip to another
 * node.
 *   sizes      `count` of them, read before the call returns
 *   addresses  room for `count`; [i] becomes the address of the block of sizes[i]
 * acp_malloc_many allocates all blocks or returns -1 and allocates none: the addresses are
 * ACP_GA_NULL then, but unchanged after ACP_ERR_ARGUMENT (also for a count above 2^36).
 * acp_free_many frees all blocks that can be freed, on any ranks, and returns -1 with the first
 * error; it frees none after ACP_ERR_ARGUMENT (a count above 2^36). NULL is legal only with
 * count 0. */
ACP_API int acp_malloc_many(size_t count, const size_t* sizes, int rank, acp_ga_t* addresses);
ACP_API int acp_free_many(size_t count, const acp_ga_t* addresses);

/* The number of bytes that a block has room for, at least the size given to acp_malloc. Returns
 * (size_t)-1 after a failure: ACP_ERR_ADDRESS when no block begins at `ga`, or it was freed;
 * ACP_ERR_PEER. */
ACP_API size_t acp_usable_size(acp_ga_t ga);

/* How much of a heap is in use, in bytes. The numbers are approximate while other threads allocate
 * and free. */
typedef struct {
    /* The heap's limit. */
    size_t limit;
    /* The allocated blocks, and the free room in 16 KiB units that is reserved for further blocks
     * of the same size class. No block of another size can have it. */
    size_t in_use;
    /* The sum of the blocks' acp_usable_size. */
    size_t allocated;
    /* The number of allocated blocks. */
    size_t blocks;
    /* An upper bound of the memory that the heap has from the system. The heap gives freed memory
     * back by whole MiB: after calls from another node a MiB at a time, until some time later. */
    size_t memory;
} acp_heap_stat_t;

/* Returns 0, or -1 as acp_malloc. Takes a millisecond or so for each GiB in use. */
ACP_API int acp_heap_stat(int rank, acp_heap_stat_t* stat);

/* Checks the management words of a rank's heap for consistency. They lie apart from the blocks: no
 * acp_copy reaches them, but a wild pointer of a process may. Other threads and ranks may allocate
 * and free concurrently. Returns 0, or -1: ACP_ERR_SYSTEM with a message that names the first
 * inconsistency that lasts, or as acp_malloc. */
ACP_API int acp_heap_check(int rank);

#ifdef __cplusplus
}
#endif

#endif
