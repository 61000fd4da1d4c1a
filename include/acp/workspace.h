/* SPDX-License-Identifier: BSD-3-Clause */
/* Workspaces: bytes that are spread over the ranks in blocks of one size, and are read and written
 * as if they lay in one piece. The blocks lie in the heaps of the ranks (acp_malloc). Calls that
 * fail return what is said here and set acp_errno(). */
#ifndef ACP_WORKSPACE_H
#define ACP_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A workspace, as the calling rank knows it. */
typedef struct acp_workspace* acp_wsd_t;

/* As in 3.0, -1. */
#ifdef __cplusplus
#define ACP_WSD_NULL (reinterpret_cast<acp_wsd_t>(intptr_t{-1}))
#else
#define ACP_WSD_NULL ((acp_wsd_t)(-1))
#endif

/* Says for later acp_create_ws on which rank the first block lies, and how many bytes each block
 * has; the ranks say the same. At first they are rank 0 and 1 MiB; acp_init and acp_reset begin
 * with these. Each acp_create_ws leaves the rank behind that of its last block.
 *   proc_start    0 .. acp_procs()-1
 *   size_default  1 or more
 * Returns 0, or -1 with ACP_ERR_ARGUMENT; then nothing has changed. Does not block. */
ACP_API int acp_setparams_ws(size_t proc_start, size_t size_default);

/* Makes a workspace of `size` bytes, whose content is unspecified. Every rank calls it, as
 * acp_sync, by one thread, with the same size and after the same acp_setparams_ws. Returns a
 * workspace on every rank, or ACP_WSD_NULL on every rank: ACP_ERR_MEMORY (no room in the heap of a
 * rank), ACP_ERR_MISMATCH (the ranks do not ask for the same), ACP_ERR_PEER, ACP_ERR_STATE,
 * ACP_ERR_UNSUPPORTED (heaps of size 0). Blocks until all ranks have called it. */
ACP_API acp_wsd_t acp_create_ws(size_t size);

/* Frees the calling rank's blocks and what it knows of the workspace; every rank calls it when
 * nobody uses the workspace any more. Returns 0, or -1 with ACP_ERR_STALE (no workspace, or
 * destroyed before). Any thread. Does not block. */
ACP_API int acp_destroy_ws(acp_wsd_t workspace);

/* acp_read_ws copies `size` bytes of a workspace from `offset` to the address `ga`, on any rank;
 * acp_write_ws copies them from there to the workspace. There is no order among the bytes, and none
 * against calls of others. Returns 0 when they are there, or -1: ACP_ERR_ARGUMENT (beyond the
 * workspace), ACP_ERR_STALE (as above), and what acp_complete would tell of the copies. Any thread.
 * Blocks until the copies are complete. */
ACP_API int acp_read_ws(acp_wsd_t workspace, acp_ga_t ga, size_t size, size_t offset);
ACP_API int acp_write_ws(acp_wsd_t workspace, acp_ga_t ga, size_t size, size_t offset);

#ifdef __cplusplus
}
#endif

#endif
