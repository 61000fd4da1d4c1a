/* SPDX-License-Identifier: BSD-3-Clause */
/* Workspaces: bytes that are spread over the ranks in blocks of one size; programs read and write
 * them as one array. The blocks lie in the heaps of the ranks (acp_malloc). A call that fails
 * returns the value stated below and sets acp_errno(). */
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

/* The value is -1, as in ACP 3.0. */
#ifdef __cplusplus
#define ACP_WSD_NULL (reinterpret_cast<acp_wsd_t>(intptr_t{-1}))
#else
#define ACP_WSD_NULL ((acp_wsd_t)(-1))
#endif

/* Sets for later calls of acp_create_ws the rank of the first block and the size of each block. All
 * ranks give the same values. acp_init and acp_reset set rank 0 and 1 MiB. Each acp_create_ws
 * advances the rank to the one behind its last block.
 *   proc_start    0 .. acp_procs()-1
 *   size_default  1 or more
 * Returns 0, or -1 with ACP_ERR_ARGUMENT; then nothing is changed. Does not block. */
ACP_API int acp_setparams_ws(size_t proc_start, size_t size_default);

/* Makes a workspace of `size` bytes, whose content is unspecified. Collective, as acp_sync: one
 * thread of every rank calls it, with the same size and after the same acp_setparams_ws. Returns a
 * workspace on every rank, or ACP_WSD_NULL on every rank: ACP_ERR_MEMORY (no room in the heap of a
 * rank), ACP_ERR_MISMATCH (the ranks gave different sizes or parameters), ACP_ERR_PEER,
 * ACP_ERR_STATE, ACP_ERR_UNSUPPORTED (heaps of size 0). Blocks until all ranks have called it. */
ACP_API acp_wsd_t acp_create_ws(size_t size);

/* Frees the calling rank's blocks and its record of the workspace. Every rank calls it, when no
 * rank uses the workspace any longer. Returns 0, or -1 with ACP_ERR_STALE (no workspace, or
 * destroyed before). Any thread. Does not block. */
ACP_API int acp_destroy_ws(acp_wsd_t workspace);

/* acp_read_ws copies `size` bytes of a workspace from `offset` to the address `ga`, on any rank;
 * acp_write_ws copies them from `ga` to the workspace. The bytes are copied in no order, also
 * relative to calls of other ranks. Returns 0 when all bytes are copied, or -1: ACP_ERR_ARGUMENT
 * (beyond the workspace), ACP_ERR_STALE (as above), and the errors that acp_complete reports of
 * copies. Any thread. Blocks until the copies are complete. */
ACP_API int acp_read_ws(acp_wsd_t workspace, acp_ga_t ga, size_t size, size_t offset);
ACP_API int acp_write_ws(acp_wsd_t workspace, acp_ga_t ga, size_t size, size_t offset);

#ifdef __cplusplus
}
#endif

#endif
