/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared pages: memory that all ranks read and write by plain pointers, which mean the same on every
 * rank. If all ranks are on one node they are plain memory. Else each page has a home, a node; a page
 * that is touched elsewhere raises a signal, whose handler fetches it, and the barrier sends the bytes
 * that were written to the homes. Faults at a steady stride fetch the next pages too.
 *
 *     acp_init_dsm(bytes);                                 all ranks
 *     double* grid = acp_alloc_dsm(rows * row_bytes);      all ranks; the same pointer on each
 *     for (...) {
 *         compute_own_rows(grid);
 *         acp_barrier_dsm();                               each rank sees what all have written
 *     }
 *     acp_free_dsm(grid);
 *     acp_finalize_dsm();
 *
 * Consistency: after a barrier each rank reads what any rank has written before it. Between two
 * barriers no rank reads or writes a byte that another one writes, unless acp_fence_dsm orders
 * that. Different bytes of a page may be
 * written by different ranks.
 *
 * Collective calls are made by one thread of each rank, in the same order on all ranks. In a job of
 * several nodes no other thread touches shared pages during such a call. The pages lie in the heap
 * of a rank of each node: acp_init_dsm takes `size` bytes of it, on several nodes twice as much
 * (--heap-size, ACP_HEAP_SIZE). They outlive the rank that dies; a barrier then fails on the
 * others.
 * If the home of a page is lost, a touch of it ends the process with a sentence, whatever ACP_ON_ERROR
 * says, unless the node has a copy.
 *
 * Other calls refuse pointers into shared pages of several nodes with ACP_ERR_UNSUPPORTED, except
 * acp_put, acp_get, acp_put_copied and acp_put_signal; what these write counts as written by the
 * caller if they end before its next barrier. Threads that touch shared pages do not block SIGBUS or
 * SIGSEGV. If the program installs a handler of these signals after acp_init_dsm, the handler calls
 * acp_handle_fault_dsm.
 *
 * Children of fork() have no shared pages: an access ends the child by SIGSEGV. Core dumps leave
 * shared pages out. acp_finalize and acp_reset end shared pages.
 *
 * Calls that fail set acp_errno(): ACP_ERR_STATE (no shared pages, or another thread is in a
 * collective call), ACP_ERR_PEER (a rank has died), ACP_ERR_MISMATCH (ranks made different calls).
 * Not from signal handlers, except acp_handle_fault_dsm. */
#ifndef ACP_DSM_H
#define ACP_DSM_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/lock.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the shared pages of the job. Collective. The address range is the same on all ranks.
 *   size  1 .. 2^43, the same on all ranks; rounded up to pages of 4096 bytes
 * Returns 0, or -1, on all ranks alike: ACP_ERR_ARGUMENT (a wrong size, or different ones),
 * ACP_ERR_MEMORY (no heap has that much room), ACP_ERR_LIMIT (no address range is free on all
 * ranks), ACP_ERR_UNSUPPORTED (heaps of size 0; the kernel lacks what ACP_DSM_FAULTS names),
 * ACP_ERR_STATE (there are shared pages). */
ACP_API int acp_init_dsm(size_t size);

/* Ends the shared pages: no pointer into them is valid afterwards. Collective; a barrier. Returns 0,
 * or -1; the pages have ended in both cases. */
ACP_API int acp_finalize_dsm(void);

/* Allocates shared memory: whole pages, all zero. Collective. Returns the same address on all ranks,
 * or NULL on all of them: ACP_ERR_ARGUMENT (size 0), ACP_ERR_LIMIT (no run of that many pages is
 * free).   size  the same on all ranks */
ACP_API void* acp_alloc_dsm(size_t size);

/* Which node is the home of a page, on several nodes. A node keeps the pages whose home it is; their
 * accesses there fetch nothing and send nothing. */
typedef enum {
    /* ACP_HOME_BLOCK at first. A page moves to a node that alone wrote it between two barriers, and
     * again the next time that it was written: the policy of acp_alloc_dsm. Argument: 0. */
    ACP_HOME_MIGRATING = 0,
    /* Equal runs of pages, in the order of the nodes. Argument: 0. */
    ACP_HOME_BLOCK = 1,
    /* Runs of `argument` pages, 1 .. 2^31, to the nodes in turn. */
    ACP_HOME_CYCLIC = 2,
    /* The node of rank `argument`. */
    ACP_HOME_RANK = 3,
    /* ACP_HOME_BLOCK, until the first barrier before which the page was written: if one node alone
     * wrote it, that is the home from then on. Argument: 0. */
    ACP_HOME_FIRST_WRITER = 4
} acp_home_t;

/* acp_alloc_dsm with a policy for the homes of the pages, the same on all ranks. Errors also:
 * ACP_ERR_ARGUMENT (policy, argument). On one node the policy has no effect. */
ACP_API void* acp_alloc_home_dsm(size_t size, acp_home_t policy, uint64_t argument);

/* A barrier, at which the node of `rank` becomes the home of all pages that have bytes of the range. A
 * page of ACP_HOME_MIGRATING may move again; any other page stays. Collective; the arguments are the
 * same on all ranks. Returns 0, or -1, and the homes are as before: ACP_ERR_ARGUMENT (size 0; a byte
 * lies in no shared page, or in no allocation; no such rank), ACP_ERR_SYSTEM. */
ACP_API int acp_set_home_dsm(const void* address, size_t size, int rank);

/* The lowest rank of the node that is the home of the page of a byte, until the next barrier. Returns
 * -1 after a failure, as acp_query_ga_dsm. Does not block. */
ACP_API int acp_query_home_dsm(const void* address);

/* The most bytes that travel with a lock; a longer range stays in its pages. */
#define ACP_BIND_BYTES_MAX 992

/* In place of a size: all shared pages, also those that are allocated later. */
#define ACP_BIND_ALL 0xffffffffffffffff

/* Binds bytes of shared pages to a lock, in place of those that were bound to it. acp_lock, acp_try_lock
 * and acp_lock_timeout return with the bytes as of the last acp_unlock, on any node, without a barrier.
 * Up to ACP_BIND_BYTES_MAX bytes travel with the lock in its one round trip. Of a longer range acp_unlock
 * sends what its holder wrote to the homes of the pages, and the calls that take the lock renew those
 * pages of which the node has a copy and which other nodes changed. From this call on, only the thread
 * that holds the lock writes the bytes, and it alone reads them, except after a barrier: all ranks read
 * the bytes of the last acp_unlock before the barrier, as long as no rank holds the lock. A lock may be
 * held across a barrier; then the other ranks read no byte of a longer range. If a holder dies, the next
 * call returns 1: bytes that travel are as of the last acp_unlock, each other one is so or as the dead
 * holder wrote it, the same on all ranks. Collective; a barrier, during which no thread holds the lock or
 * takes it. A barrier after an acp_unlock with which bytes travelled takes twice as long as one without.
 *   lock     the same on all ranks
 *   address, size  the same on all ranks; any bytes of allocations, of which none is bound to another
 *            lock. size 0: none are bound from now on. NULL and ACP_BIND_ALL: all shared pages
 * Returns 0, or -1, on all ranks alike, and changes nothing: ACP_ERR_ARGUMENT (a byte lies in no
 * shared page, in no allocation, or is bound to another lock), ACP_ERR_STATE (a thread holds the lock),
 * ACP_ERR_STALE, ACP_ERR_ADDRESS (no lock), ACP_ERR_MEMORY (no room in the lock's heap). */
ACP_API int acp_bind_dsm(acp_lock_t lock, const void* address, size_t size);

/* Frees shared memory. Collective; a barrier, behind which no rank uses the memory. Returns 0, or -1
 * and changes nothing: ACP_ERR_ARGUMENT (not a result of acp_alloc_dsm), ACP_ERR_STATE (bytes of it
 * are bound to a lock).
 *   address  the same on all ranks */
ACP_API int acp_free_dsm(void* address);

/* A barrier of all ranks. After it each rank reads what any rank has written to shared pages before
 * it. Collective. Returns 0, or -1. */
ACP_API int acp_barrier_dsm(void);

/* Fetches the pages of a range for this rank, which touches them without a fault until its next
 * collective call on shared pages. One copy has up to 64 pages of one home, and up to 16 copies are
 * in flight; a fault fetches one page, with those beside it that were touched before, and with the next
 * ones of a stream. Blocks until the pages are there. Any thread, but not during a collective call. On one node it does nothing.
 *   address, size  any bytes of allocations; size 0 does nothing
 * Returns 0, or -1: ACP_ERR_ARGUMENT (a byte lies in no shared page, or in no allocation),
 * ACP_ERR_PEER (the home of a page is lost), ACP_ERR_SYSTEM. */
ACP_API int acp_prefetch_dsm(const void* address, size_t size);

/* Begins to send what the caller has written in a range to the homes of the pages: the next barrier
 * has less to send. A hint: a thread of the library sends it, and the call does not wait for that. The
 * ranks may continue to read and write the range. The call orders nothing: after a barrier or
 * acp_fence_dsm other ranks read what was written. Any thread, but not during a collective call. On
 * pages whose home is the caller's node, and on one node, it does nothing.
 *   address, size  any bytes of allocations; size 0 does nothing
 * Returns 0, or -1: ACP_ERR_ARGUMENT (a byte lies in no shared page, or in no allocation),
 * ACP_ERR_SYSTEM. What cannot be sent, the next barrier reports. */
ACP_API int acp_flush_dsm(const void* address, size_t size);

/* Makes a range the same for the caller and at the homes of its pages, between two barriers: for a
 * flag that a rank of another node sets.
 *
 *     data[i] = x;  acp_fence_dsm(data, bytes);  flag = 1;  acp_fence_dsm(&flag, sizeof flag);
 *
 *     do acp_fence_dsm(&flag, sizeof flag); while (flag == 0);  acp_fence_dsm(data, bytes);  use(data[i]);
 *
 * When it returns, the homes have what the caller's node has written in the range before, and the
 * caller reads what was at the homes when the call began. Behind a read that returned a value that another
 * rank had fenced, a fence of a range shows all that this rank had fenced there before. A fence is no
 * lock: a byte that two ranks write without such an order has any of their values. The flag is an
 * aligned object of 1, 2, 4 or 8 bytes, volatile or atomic: it changes as a whole. One range with data
 * and flag does not do: take two fences, in the order above. Bytes that are bound to a lock travel with
 * it alone. Blocks until the homes
 * have answered, also while another rank of the node fences pages beside the range. Any thread, but
 * not during a collective call. On one node it orders the caller's accesses alone.
 *   address, size  any bytes of allocations, exchanged by whole pages; size 0 does nothing
 * Returns 0, or -1: ACP_ERR_ARGUMENT (a byte lies in no shared page, or in no allocation),
 * ACP_ERR_PEER (the home of a page is lost, which the message names; the other pages are exchanged). */
ACP_API int acp_fence_dsm(const void* address, size_t size);

/* For acp_set_update_dsm: a barrier either drops a page that another node has written, or fetches it
 * again. */
enum {
    /* Fetch what the rank touched after earlier barriers. No other constant of ACP has this value. */
    ACP_UPDATE_LEARN = 0x70,
    ACP_UPDATE_ALWAYS,
    ACP_UPDATE_NEVER
};

/* Chooses what barriers do with pages that the calling rank has touched, or fetched by
 * acp_prefetch_dsm. A page that a barrier fetches again is touched without a fault; all pages of a
 * barrier are fetched by few copies. At first, and after acp_free_dsm, all pages are
 * ACP_UPDATE_LEARN: a page that the rank has touched after two barriers running, both of which dropped
 * it, is fetched again at the next 4; then one barrier drops it, and if the rank touches it again it is
 * fetched again twice as many times as before, 256 at most. Any thread, but not during a collective
 * call. Does not block. On one node it does nothing.
 *   address, size  any bytes of allocations; the choice holds for whole pages; size 0 does nothing
 *   update         ACP_UPDATE_...
 * Returns 0, or -1: ACP_ERR_ARGUMENT (another value; a byte lies in no shared page, or in no
 * allocation). */
ACP_API int acp_set_update_dsm(const void* address, size_t size, int update);

/* Bounds the memory of the copies of other nodes' pages that the calling rank's node keeps. To fetch a
 * page beyond the bound, a fault first drops copies that were not used for some time, and sends what
 * was written to them to their homes: a program may use more shared memory than a node has. A copy
 * takes twice its bytes of memory. Copies that several ranks of the node touch go at barriers alone, and
 * pages that acp_put or acp_get use stay until the next barrier; both may exceed the bound. The bound of
 * the last call of any rank of the node holds; at first it is ACP_DSM_CACHE. A lower one than before
 * holds from the next barrier on at the latest. Any thread, at any time. Does not block. On one node it
 * does nothing.
 *   bytes  0: no bound; less than 256 KiB counts as 256 KiB
 * Returns 0, or -1: ACP_ERR_STATE. */
ACP_API int acp_set_cache_dsm(size_t bytes);

/* For a handler of SIGBUS or SIGSEGV that the program has installed after acp_init_dsm: if the fault is
 * the touch of a shared page, makes the page accessible, and the handler returns.
 *   info     the siginfo_t that the handler got
 *   context  the handler's third argument, or NULL: a write then faults twice
 * Returns 1, or 0: the fault is the program's own. Async-signal-safe; keeps errno; sets no
 * acp_errno(). */
ACP_API int acp_handle_fault_dsm(const void* info, const void* context);

/* The global address of a byte of a shared page, for acp_copy, acp_put, acp_get, atomics and locks; on
 * several nodes that of the byte at the page's home, until the next barrier. Returns ACP_GA_NULL after
 * a failure: ACP_ERR_ARGUMENT (the address lies in no shared page, or in no allocation). Does not
 * block. */
ACP_API acp_ga_t acp_query_ga_dsm(const void* address);

typedef struct {
    uint64_t bytes;           /* the size of all shared pages */
    uint64_t bytes_allocated; /* whole pages */
    uint64_t allocations;     /* that were not freed */
    uint64_t barriers;        /* of acp_barrier_dsm that the caller has passed */
    uint64_t faults;          /* signals that accesses of the caller raised; on one node always 0 */
    /* On one node all of these are 0. */
    uint64_t fault_ns;         /* the time that the handlers of these signals took */
    uint64_t pages_fetched;    /* the caller fetched them for its node */
    uint64_t pages_prefetched; /* of the ranges of acp_prefetch_dsm; the node may have had some */
    uint64_t pages_sent;       /* pages whose written bytes the caller sent to the home */
    uint64_t bytes_sent;       /* bytes of these differences */
    uint64_t pages_dropped;    /* mapped by the caller, and unmapped by barriers */
    /* Pages of which barriers made the caller's node the home; one rank of the node counts them. */
    uint64_t homes_gained;
    uint64_t pages_updated; /* pages that barriers fetched again for the caller */
    uint64_t pages_ahead;   /* pages that streams of the caller's faults mapped ahead */
    /* The part of pages_ahead that barriers or evictions dropped before a fault showed its use. */
    uint64_t pages_ahead_unused;
    uint64_t cache_bytes;   /* the bound of the caller's node (acp_set_cache_dsm); 0: none */
    uint64_t bytes_cached;  /* copies of other nodes' pages whose memory the caller's node has */
    uint64_t pages_evicted; /* copies that the caller dropped for the bound */
    /* Pages whose written bytes it sent before it dropped the copy; pages_sent has them too. */
    uint64_t pages_evicted_sent;
    uint64_t bytes_evicted_sent; /* bytes of these differences; bytes_sent has them too */
    /* Of ACP_DSM_CHECK (acp_environment(7)): the same on all ranks, for those barriers that the caller has
     * passed. */
    uint64_t races;           /* pages with bytes that two nodes wrote, or one wrote and one read
                               * (ACP_DSM_CHECK=reads), without an order */
    uint64_t pages_unchecked; /* written pages for which the check had no room */
} acp_stats_dsm_t;

/* Writes the calling rank's statistics, which acpstat(1) shows too.   size  sizeof *stats: a library of another version leaves
 * fields zero that it does not know. Returns 0, or -1: ACP_ERR_ARGUMENT. Does not block. */
ACP_API int acp_query_stats_dsm(acp_stats_dsm_t* stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif
