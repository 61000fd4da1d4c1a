/* SPDX-License-Identifier: BSD-3-Clause */
/* PM messages under the names of PMv2 (SCore), for programs written for that library: each function
 * here calls one of acp/pm.h, and returns 0 or an errno, as PMv2's do. Header only; not part of
 * acp.h. Nodes of PMv2 are ranks here. A context is opened with acp_open_pm and closed with
 * acp_close_pm, as acp_pm_t is a pmContext*. Names and arguments are those of the published manual
 * pages of pmGetSendBuffer, pmReceive, pmMLock, pmWrite, pmRead and pmBeforeSelect; functions that
 * those pages mention without a page of their own (pmSend, pmReleaseReceiveBuffer), or that PMX has
 * (pmxTruncateBuffer, pmxIsSendDone, pmxIsWriteDone, pmxIsReadDone, pmxAfterSelect), have the
 * arguments that follow from them. */
#ifndef ACP_COMPAT_PMV2_H
#define ACP_COMPAT_PMV2_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <acp/access.h>
#include <acp/error.h>
#include <acp/init.h>
#include <acp/pm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acp_pm_context pmContext;
typedef char* caddr_t; /* as the system's, where it has one */

/* The global address of the first byte of locked memory; the addresses of the next bytes follow. It
 * may be sent to other ranks. */
typedef acp_ga_t pmAddrHandle;

enum { PM_NODE_ANY = -1 };

/* The errno for the calling thread's last failure: EINVAL, EBADF (no such context, or the
 * destination has closed its), EBUSY (a message is composed, or held, or none is), EPIPE (a rank is
 * dead, or its node lost), ENOMEM, ENOSYS, else EIO. */
static inline int acp_pmv2_errno(void) {
    switch (acp_errno()) {
        case ACP_ERR_ARGUMENT:
            return EINVAL;
        case ACP_ERR_STALE:
            return EBADF;
        case ACP_ERR_STATE:
            return EBUSY;
        case ACP_ERR_PEER:
            return EPIPE;
        case ACP_ERR_MEMORY:
        case ACP_ERR_LIMIT:
            return ENOMEM;
        case ACP_ERR_UNSUPPORTED:
            return ENOSYS;
        default:
            return EIO;
    }
}

/* ENOBUFS: there is no room now; see acp_get_buffer_pm. */
static inline int pmGetSendBuffer(pmContext* pmc, int dest, caddr_t* bufp, size_t len) {
    void* buffer = NULL;
    const int has_room = acp_get_buffer_pm(pmc, dest, len, bufp != NULL ? &buffer : NULL);
    if (has_room < 0) return acp_pmv2_errno();
    if (has_room == 0) return ENOBUFS;
    memcpy(bufp, &buffer, sizeof buffer);
    return 0;
}

static inline int pmTruncateBuffer(pmContext* pmc, size_t len) {
    return acp_truncate_pm(pmc, len) == 0 ? 0 : acp_pmv2_errno();
}

static inline int pmSend(pmContext* pmc) {
    return acp_send_pm(pmc) == 0 ? 0 : acp_pmv2_errno();
}

/* EBUSY: not yet; see acp_test_sent_pm. */
static inline int pmIsSendDone(pmContext* pmc) {
    const int is_sent = acp_test_sent_pm(pmc);
    return is_sent < 0 ? acp_pmv2_errno() : is_sent == 1 ? 0 : EBUSY;
}

/* ENOBUFS: no message has arrived. The program must not change the message. */
static inline int pmReceive(pmContext* pmc, caddr_t* bufp, size_t* lenp) {
    const void* data = NULL;
    const int has_come = acp_receive_pm(pmc, bufp != NULL ? &data : NULL, lenp, NULL);
    if (has_come < 0) return acp_pmv2_errno();
    if (has_come == 0) return ENOBUFS;
    memcpy(bufp, &data, sizeof data);
    return 0;
}

static inline int pmReleaseReceiveBuffer(pmContext* pmc) {
    return acp_release_pm(pmc) == 0 ? 0 : acp_pmv2_errno();
}

/* Any rank may use the locked memory, also when rmt_node names one.
 *   rmt_node  PM_NODE_ANY, or a rank */
static inline int pmMLock(
    pmContext* pmc, int rmt_node, caddr_t addr, size_t len, pmAddrHandle* handle) {
    if (rmt_node < PM_NODE_ANY || rmt_node >= acp_procs()) return EINVAL;
    return acp_lock_pm(pmc, addr, len, handle) == 0 ? 0 : acp_pmv2_errno();
}

static inline int pmMUnlock(pmContext* pmc, pmAddrHandle handle) {
    return acp_unlock_pm(pmc, handle) == 0 ? 0 : acp_pmv2_errno();
}

/* From this rank's memory to that of rmt_node. */
static inline int pmWrite(
    pmContext* pmc, int rmt_node, pmAddrHandle remote, pmAddrHandle local, size_t len) {
    if (acp_query_rank(remote) != rmt_node) return EINVAL;
    return acp_write_pm(pmc, remote, local, len) != ACP_HANDLE_NULL ? 0 : acp_pmv2_errno();
}

/* From the memory of rmt_node to this rank's. */
static inline int pmRead(
    pmContext* pmc, int rmt_node, pmAddrHandle remote, pmAddrHandle local, size_t len) {
    if (acp_query_rank(remote) != rmt_node) return EINVAL;
    return acp_read_pm(pmc, local, remote, len) != ACP_HANDLE_NULL ? 0 : acp_pmv2_errno();
}

/* 0 when all writes, reads and other copies of this process are complete; EBUSY: not yet.
 * acp_wait(ACP_HANDLE_ALL, 0) returns failures. */
static inline int pmIsWriteDone(pmContext* pmc) {
    (void)pmc;
    return acp_inquire(ACP_HANDLE_ALL) == 0 ? 0 : EBUSY;
}

static inline int pmIsReadDone(pmContext* pmc) {
    return pmIsWriteDone(pmc);
}

/* Call it before a sleep in select(2) or poll(2) on *descriptor; receive all messages after the
 * sleep. EBUSY: do not sleep; receive or send first. PMv2's function has no second argument.
 *   descriptor  becomes the descriptor to wait for */
static inline int pmBeforeSelect(pmContext* pmc, int* descriptor) {
    const int may_sleep = acp_before_select_pm(pmc, descriptor);
    return may_sleep < 0 ? acp_pmv2_errno() : may_sleep == 1 ? 0 : EBUSY;
}

static inline int pmAfterSelect(pmContext* pmc) {
    return acp_after_select_pm(pmc) == 0 ? 0 : acp_pmv2_errno();
}

#ifdef __cplusplus
}
#endif

#endif
