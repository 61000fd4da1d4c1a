/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of any rank: blocks that any rank allocates on any rank, and any rank frees. Each rank has
 * a heap of its own, in memory that all ranks of its node have mapped; the owner need not help, and
 * may sleep, compute or be stopped. On the caller's node a call takes about as long as malloc, on
 * another node one round trip. What a process that dies was doing in a heap is finished or undone
 * by the others; the blocks that it had allocated stay. Any thread may make every call; not from a
 * signal handler. */
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
 * The block is aligned to 16 bytes, and usable by all ranks at once, in copies and atomics as
 * starter memory is, until it is freed or acp_reset or acp_finalize is called. acp_query_address
 * gives its pointer on the rank's node. Returns ACP_GA_NULL with ACP_ERR_MEMORY (no room),
 * ACP_ERR_ARGUMENT (rank), ACP_ERR_PEER (the rank's node is lost, or the rank is dead and of
 * another node than the caller), ACP_ERR_UNSUPPORTED (heaps of size 0). Blocks for one round trip
 * when the rank is on another node; never for another process of the caller's node. */
ACP_API acp_ga_t acp_malloc(size_t size, int rank);

/* acp_malloc of count * size bytes that are zero. ACP_ERR_ARGUMENT where the product is beyond
 * size_t. */
ACP_API acp_ga_t acp_calloc(size_t count, size_t size, int rank);

/* acp_malloc with an alignment of global address and pointers: a power of two from 1 to 4096, else
 * ACP_ERR_ARGUMENT. */
ACP_API acp_ga_t acp_aligned_alloc(size_t alignment, size_t size, int rank);

/* A block of `size` bytes on the rank of the block `ga`, with the first bytes of its content, as
 * many as both have; `ga` is freed, unless it is returned itself. No command may be using the
 * block. ACP_GA_NULL is as acp_malloc(size, acp_rank()). Returns ACP_GA_NULL as acp_malloc and
 * acp_free; then the block is as it was. An alignment above 16 is not kept. */
ACP_API acp_ga_t acp_realloc(acp_ga_t ga, size_t size);

/* Frees a block, whoever allocated it. No command may be using it any more. ACP_GA_NULL is legal
 * and does nothing. Returns 0, or -1 and changes nothing: ACP_ERR_STALE (freed before),
 * ACP_ERR_ADDRESS (no block begins there), ACP_ERR_PEER. A block that was freed and allocated again
 * cannot be told from a new one. */
ACP_API int acp_free(acp_ga_t ga);

/* acp_malloc and acp_free of several blocks, which costs other nodes one round trip for about a
 * hundred of them.
 *   sizes      `count` of them, read before the call returns
 *   addresses  room for `count`; [i] becomes the address of the block of sizes[i]
 * acp_malloc_many: all blocks or, with -1, none (addresses are ACP_GA_NULL; after ACP_ERR_ARGUMENT,
 * which a count above 2^36 is too, they are as before). acp_free_many: frees all that can be freed,
 * of any ranks; -1 with the first error. NULL is legal only with count 0. */
ACP_API int acp_malloc_many(size_t count, const size_t* sizes, int rank, acp_ga_t* addresses);
ACP_API int acp_free_many(size_t count, const acp_ga_t* addresses);

/* What a block has room for in bytes, at least what was asked for; (size_t)-1 after a failure:
 * ACP_ERR_ADDRESS when no block begins at `ga`, ACP_ERR_STALE, ACP_ERR_PEER. */
ACP_API size_t acp_usable_size(acp_ga_t ga);

/* How much of a heap is in use, in bytes: about, while others use it. */
typedef struct {
    size_t limit; /* the heap's limit */
    /* Not available to blocks of other sizes: the allocated blocks, and free room in the 16 KiB
     * units that is reserved for further blocks of the same size class. */
    size_t in_use;
    size_t allocated; /* in blocks, each as acp_usable_size says */
    size_t blocks;    /* how many blocks */
    size_t
        memory; /* memory taken from the system, at most; freed memory is given back by whole MiB */
} acp_heap_stat_t;

/* Returns 0, or -1 as acp_malloc. Takes a millisecond or so for each GiB in use. */
ACP_API int acp_heap_stat(int rank, acp_heap_stat_t* stat);

/* Looks whether the words by which a rank's heap is managed are sound. They lie apart from the
 * blocks, where no acp_copy reaches them, but a wild pointer of a process may. Call it while no
 * rank allocates or frees. Returns 0, or -1: ACP_ERR_SYSTEM with the first contradiction in words,
 * or as acp_malloc. */
ACP_API int acp_heap_check(int rank);

#ifdef __cplusplus
}
#endif

#endif
