/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels: messages of any length from one rank to another, delivered once and in the order sent.
 * A channel has two ends. Sender and receiver each make their own end, without waiting for the
 * other rank. The n-th sender's end that rank A makes for rank B is connected to the n-th
 * receiver's end that B makes for A; a create call that fails makes no end. The ends connect while
 * either rank makes calls on channels. A request may be issued before the other rank has made its
 * end; it completes after that.
 *
 * Short messages are copied into a ring in the receiver's heap and from there into the receiver's
 * buffer. Longer messages go in pieces, which sender and receiver copy at the same time; between
 * nodes, the receiver fetches a message of more than ACP_EAGER_BYTES straight into its buffer. A
 * channel takes about ACP_CHANNEL_BYTES of the receiver's heap, four times as much if the sender is
 * on another node, and an eighth more for its journal. On a node, the first message of more than
 * 3/8 of ACP_CHANNEL_BYTES takes a pipe from the sender's heap, if that has room: eight times
 * ACP_CHANNEL_BYTES, or sixteen times where ranks outnumber the CPUs, at most 256 KiB. Freeing both
 * ends gives this memory back.
 *
 * A request is an outstanding send, receive or free. The library makes progress on it while any
 * thread of its process waits in a call of ACP's (but not in acp_wait or acp_complete; acp(7));
 * acp_nbsend_ch itself sends a short message for which the ring has room. Exactly one acp_wait_ch,
 * acp_test_ch, acp_wait_ch_timeout or acp_waitall_ch returns the completion of a request and
 * retires it. The requests of one channel complete in the order of issue.
 *
 * If one of the two ranks dies, or its node is lost, the other rank's requests on the channel fail
 * with ACP_ERR_PEER; the receiver still gets each message that had reached its node in whole
 * before. No call waits for a dead rank. Calls do wait for a stopped rank, which delays only the
 * other ends of its channels; a stopped rank that is alone on its node counts as lost after
 * ACP_PEER_TIMEOUT. acp_finalize and acp_reset discard ends that are not freed, with their messages
 * and requests. Any thread may make every call, also several threads on one channel at once; not
 * from a signal handler. A call that fails returns the value stated below and sets acp_errno():
 * ACP_ERR_STALE (the channel or request was freed or retired), ACP_ERR_ARGUMENT, ACP_ERR_MEMORY (a
 * heap is full, or the process has no memory), ACP_ERR_LIMIT (ACP_CHANNEL_DEPTH requests are
 * outstanding on the channel), ACP_ERR_PEER, ACP_ERR_UNSUPPORTED (heaps of size 0). */
#ifndef ACP_CHANNEL_H
#define ACP_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a channel, and a request. Handles are valid in the calling process alone. */
typedef struct acp_channel* acp_ch_t;
typedef struct acp_channel_request* acp_request_t;

#ifdef __cplusplus
#define ACP_CH_NULL (static_cast<acp_ch_t>(nullptr))
#define ACP_REQUEST_NULL (static_cast<acp_request_t>(nullptr))
#else
#define ACP_CH_NULL ((acp_ch_t)0)
#define ACP_REQUEST_NULL ((acp_request_t)0)
#endif

/* Makes the calling rank's end of a channel. Sender and receiver are 0 .. acp_procs()-1 and differ;
 * one of them is the calling rank. Returns ACP_CH_NULL after a failure. Does not wait for the other
 * rank to make its end; takes two round trips when that rank is on another node. */
ACP_API acp_ch_t acp_create_ch(int sender, int receiver);

/* Issues a send of `size` bytes, 0 .. 2^61-1. `buf` must stay valid and unchanged until the request
 * is complete. NULL is legal with size 0. Returns ACP_REQUEST_NULL after a failure. Does not
 * block. */
ACP_API acp_request_t acp_nbsend_ch(acp_ch_t ch, const void* buf, size_t size);

/* Issues a receive of the next message: its first `size` bytes are written to `buf`, and no byte
 * beyond its length. Otherwise as acp_nbsend_ch. */
ACP_API acp_request_t acp_nbrecv_ch(acp_ch_t ch, void* buf, size_t size);

/* Issues the free of the calling rank's end, which takes no further requests. The request completes
 * when the requests before it have completed and the other rank has issued the free of its end too.
 * Messages that were sent and not received are discarded. A receive of the other rank for which no
 * message is left fails with ACP_ERR_STALE. */
ACP_API acp_request_t acp_nbfree_ch(acp_ch_t ch);

/* Waits until a request is complete. Returns the number of bytes that a receive wrote to its
 * buffer, 0 for a send or a free, and (size_t)-1 after a failure. ACP_ERR_TRUNCATED: the message
 * was longer than the buffer, which is full; the rest is lost, and the channel stays usable.
 * Blocks; sleeps when no progress is made for long. */
ACP_API size_t acp_wait_ch(acp_request_t request);

/* Waits until all requests are complete, even when one fails. Skips ACP_REQUEST_NULL.
 *   requests  `count` of them
 *   sizes     NULL, or room for `count`: as acp_wait_ch returns
 * Returns 0, or -1 when one failed. */
ACP_API int acp_waitall_ch(const acp_request_t* requests, int count, size_t* sizes);

/* acp_wait_ch with a time limit. Returns the code with which the request completed: ACP_OK,
 * ACP_ERR_TRUNCATED or another. After ACP_ERR_TIMEOUT the request is still outstanding and may be
 * waited for again.
 *   size        NULL, or as acp_wait_ch returns; unchanged after ACP_ERR_TIMEOUT
 *   timeout_ns  0: polls once; < 0: for ever */
ACP_API int acp_wait_ch_timeout(acp_request_t request, size_t* size, int64_t timeout_ns);

/* Polls a request. Returns 1: complete and retired; 0: still outstanding; -1: failed and retired.
 *   size  as above */
ACP_API int acp_test_ch(acp_request_t request, size_t* size);

/* The blocking forms. acp_send_ch returns 0 or -1; acp_recv_ch as acp_wait_ch; acp_free_ch 0 or
 * -1. */
ACP_API int acp_send_ch(acp_ch_t ch, const void* buf, size_t size);
ACP_API size_t acp_recv_ch(acp_ch_t ch, void* buf, size_t size);
ACP_API int acp_free_ch(acp_ch_t ch);

#ifdef __cplusplus
}
#endif

#endif
