/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's part in a job: joining, leaving, ranks, and the barrier. */
#ifndef ACP_INIT_H
#define ACP_INIT_H

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job this process was started in (by acprun, else a job of one rank).
 *   argc, argv  the program's arguments, or NULL. ACP's own "--acp-NAME VALUE" pairs are removed in
 *               place.
 * Returns 0 once every rank of the job has joined, or -1. A process may call it again after a
 * failure. Errors: ACP_ERR_STATE (already joined), ACP_ERR_CONFIG (a variable or argument that does
 * not parse), ACP_ERR_MISMATCH (ranks built differently), ACP_ERR_MEMORY, ACP_ERR_SYSTEM,
 * ACP_ERR_PEER (a rank died before it joined). Collective; blocks. Call from one thread. Source:
 * ACP base layer 1. */
ACP_API int acp_init(int* argc, char*** argv);

/* Completes every outstanding command of the caller, waits for all ranks, and leaves the job.
 * Returns 0, or -1 with ACP_ERR_PEER when a rank is dead or lost (the caller has left all the
 * same). Handles, keys and global addresses are invalid afterwards. A later acp_init begins a new
 * epoch. Collective; blocks. Call from one thread while no other thread is in an ACP call. */
ACP_API int acp_finalize(void);

/* Leaves and joins again as another rank.
 *   rank  0 .. acp_procs()-1; the ranks given by all callers must be a permutation.
 * On success all handles, keys and registrations of the old epoch are invalid and every starter
 * memory is zero. The program must not use them, nor addresses, lists, vectors and deques of the
 * old epoch: an old name may name an object of the new epoch. Returns 0, or -1 with
 * ACP_ERR_ARGUMENT on every rank (nothing changed) when a rank is out of range or given twice,
 * ACP_ERR_PEER when a rank is dead or lost. Collective; blocks; one thread. */
ACP_API int acp_reset(int rank);

/* Prints text and this thread's last ACP error to stderr and ends the job: this process by SIGABRT,
 * the other ranks as acprun's --on-failure says. text may be NULL. Never returns. Any state. */
ACP_API void acp_abort(const char* text);

/* Barrier over all ranks: release and acquire for plain accesses to shared memory. Completes no
 * handle. Returns 0, or -1 with ACP_ERR_PEER when a rank is dead or lost, ACP_ERR_STATE when
 * another thread of the process is in a collective call, or the ranks have made different
 * collective calls. Collective; blocks; one thread of the process at a time. */
ACP_API int acp_sync(void);

/* The caller's rank, 0 .. acp_procs()-1, or -1 with ACP_ERR_STATE. Does not block. */
ACP_API int acp_rank(void);

/* The number of ranks of the job, >= 1, or -1 with ACP_ERR_STATE. Does not block. */
ACP_API int acp_procs(void);

/* 1 between a successful acp_init and acp_finalize, else 0 (0 in a forked child). Any state. */
ACP_API int acp_initialized(void);

/* The library's version, "major.minor.patch"; static text. Any state. */
ACP_API const char* acp_version(void);

#ifdef __cplusplus
}
#endif

#endif
