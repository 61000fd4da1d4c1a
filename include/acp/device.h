/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of devices as global addresses. Each rank has devices, numbered from 0. Device 0 is of kind
 * proc, a process of the rank's node: its memory is the rank's heap. ACP_DEVICES adds others, whose
 * memory only their engine reaches. Any rank allocates and frees memory on any device of any rank,
 * and uses its addresses in acp_copy, acp_put, acp_get and atomics as it does those of a heap; only
 * acp_query_address has no pointer to it, and acp_wait_word cannot wait there. The rank that has the
 * device carries out every command on its memory, also while its program computes. Any thread may
 * make every call; not from a signal handler. Not part of acp.h. */
#ifndef ACP_DEVICE_H
#define ACP_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* a process of the rank's node (acp_create_process); its memory is the rank's heap */
    ACP_DEVICE_PROC = 0,
    /* memory of the rank that no other process has mapped, and an engine that copies */
    ACP_DEVICE_FAR = 1
};

typedef struct {
    int kind;          /* ACP_DEVICE_PROC or ACP_DEVICE_FAR */
    int can_copy;      /* 1: acp_malloc_device allocates on it; else 0 */
    int can_call;      /* 1: acp_create_process starts processes on it; else 0 */
    uint64_t bytes;    /* its memory; of device 0 the limit of the heap */
    char name[64];     /* "proc", "far:64M" */
    char why_not[128]; /* why it cannot do what it cannot do; "" if it can do both */
} acp_device_info_t;

/* The number of devices of the calling rank, 1 or more. -1 with ACP_ERR_STATE. Does not block. */
ACP_API int acp_devices(void);

/* Describes a device of the calling rank.
 *   device  0 .. acp_devices()-1
 *   info    written on success
 * Returns 0, or -1 with ACP_ERR_ARGUMENT (no such device; info is NULL). Does not block. */
ACP_API int acp_query_device(int device, acp_device_info_t* info);

/* A block on a device of a rank. Its content is unspecified.
 *   bytes   0 is taken for 1
 *   rank    0 .. acp_procs()-1
 *   device  a number of that rank's devices
 * All ranks may use the block at once, until it is freed or acp_reset or acp_finalize is called.
 * Returns ACP_GA_NULL with ACP_ERR_MEMORY (no room), ACP_ERR_ARGUMENT (rank, device), ACP_ERR_LIMIT
 * (no room for its address: each block takes addresses as a registration does), ACP_ERR_SYSTEM (the
 * device is lost), ACP_ERR_PEER (the rank is dead or lost); for device 0 as acp_malloc. Blocks until
 * the rank has answered; for device 0 as acp_malloc. */
ACP_API acp_ga_t acp_malloc_device(size_t bytes, int rank, int device);

/* Frees a block of acp_malloc_device. ACP_GA_NULL is legal and does nothing. Commands on the block
 * that have not ended end before, or fail with ACP_ERR_STALE, as later ones do; on device 0 they
 * must be complete. Returns 0, or -1 with ACP_ERR_STALE (freed before), ACP_ERR_ADDRESS or
 * ACP_ERR_ARGUMENT (no block begins there), ACP_ERR_SYSTEM (the device is lost), ACP_ERR_PEER.
 * Blocks as acp_malloc_device. */
ACP_API int acp_free_device(acp_ga_t ga);

#ifdef __cplusplus
}
#endif

#endif
