/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks: at most one thread of all ranks holds a lock at a time. A lock lies in the heap of a rank;
 * threads of any rank take it. On the caller's node a free lock is taken and released by one
 * instruction on shared memory each, on another node in one round trip. Waiting threads get the
 * lock in the order in which they came, and sleep. When a rank dies that holds a lock, the next
 * thread gets the lock, and its call returns 1. When a waiting rank dies, the others wait on without it.
 * acp_bind_dsm (acp/dsm.h) binds bytes of shared pages to a lock, which then keeps them right on all nodes.
 *
 * Calls return -1 after a failure, and set acp_errno(): ACP_ERR_STALE (the lock was freed),
 * ACP_ERR_ADDRESS (an address of no heap), ACP_ERR_PEER (the node of the lock is lost),
 * ACP_ERR_MEMORY, ACP_ERR_UNSUPPORTED (heaps of size 0). Any thread may make every call; not from a
 * signal handler. */
#ifndef ACP_LOCK_H
#define ACP_LOCK_H

#include <stdint.h>

#include <acp/error.h>
#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A lock. Its address is valid on all ranks and may be sent to them; ga is ACP_GA_NULL for no lock.
 * Do not use a copy after the lock was freed or after acp_reset. */
typedef struct {
    acp_ga_t ga;
} acp_lock_t;

/* Makes a free lock in the heap of a rank: 64 bytes, and 24 for each rank of the job and for at
 * least 32 more waiting threads.   rank  0 .. acp_procs()-1
 * Returns ACP_GA_NULL in `ga` after a failure: ACP_ERR_ARGUMENT (rank), ACP_ERR_MEMORY. Blocks for
 * one round trip if the rank is on another node. */
ACP_API acp_lock_t acp_create_lock(int rank);

/* Frees a lock. Returns 0, or -1 and changes nothing: ACP_ERR_STATE while a thread holds the lock
 * or waits for it (a holder that died does not count), or bytes are bound to it. */
ACP_API int acp_free_lock(acp_lock_t lock);

/* Takes a lock; waits as long as other threads have it. Returns 0, or 1 if the holder before died
 * and had not released it: then the caller holds the lock too, and the memory that the lock guards
 * is as that holder left it, except that bytes that travel with the lock are as of the last release. -1:
 * ACP_ERR_STATE (the calling thread holds it), ACP_ERR_LIMIT (as many threads wait as the lock has
 * places). What earlier holders wrote before acp_unlock, by
 * stores to shared memory of their node or by commands that had completed, is visible to the
 * caller. Signal handlers do not end the wait. */
ACP_API int acp_lock(acp_lock_t lock);

/* Takes a lock if no other thread holds it. Returns as acp_lock, or ACP_NONE if one does. Does not
 * wait for a holder. */
ACP_API int acp_try_lock(acp_lock_t lock);

/* Takes a lock; waits up to timeout_ns, for ever if it is negative. Returns as acp_lock, or
 * ACP_NONE if other threads had the lock for all of the time. */
ACP_API int acp_lock_timeout(acp_lock_t lock, int64_t timeout_ns);

/* Releases a lock; the thread that has waited for the longest time gets it. Returns 0, or -1:
 * ACP_ERR_STATE if the calling thread does not hold it. Of another rank's locks, or if the next
 * holder is on another node, the call blocks for a round trip each. */
ACP_API int acp_unlock(acp_lock_t lock);

#ifdef __cplusplus
}
#endif

#endif
