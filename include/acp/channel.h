/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels: messages of any length from one rank to another one, in the order sent, each once. A
 * channel has two ends, which the sender and the receiver each make for themselves, without waiting
 * for the other one; the n-th sender's end that a rank makes for another rank belongs to the n-th
 * receiver's end that the other one makes for it; a call that fails makes none. The ends find each
 * other while calls on channels are made; requests may be begun before the other rank has made its
 * end, and end when it has.
 *
 * Short messages are copied into a ring in the receiver's heap and from there into the receiver's
 * buffer. Longer ones go in pieces, which sender and receiver copy at the same time; between nodes,
 * those of more than ACP_EAGER_BYTES are fetched by the receiver straight into its buffer. A
 * channel takes about ACP_CHANNEL_BYTES of the receiver's heap, four times as much if the sender is
 * on another node, and as much again for its journal and the sender's notes (acp_environment(7));
 * on a node, from the first message of more than 3/8 of that on, eight times as much of the
 * sender's heap, if that has room. All of it is given back when both ends are freed.
 *
 * A request is a send, a receive or a free under way. It goes on while any thread of its process
 * waits in a call of ACP's (not in acp_wait or acp_complete; acp(7)), and short messages that find
 * room are sent before acp_nbsend_ch returns. Each request is ended by exactly one acp_wait_ch,
 * acp_test_ch, acp_wait_ch_timeout or acp_waitall_ch that returns its end, and is gone then.
 * Requests of one channel end in the order made.
 *
 * If one of the two ranks dies, or its node is lost, the other's requests on the channel end with
 * ACP_ERR_PEER; the receiver still gets what had reached its node in whole before. Nobody waits for
 * a dead rank. A rank that is stopped is waited for, and delays nobody but the other end of its
 * channels; one that is alone on its node is given up after ACP_PEER_TIMEOUT. acp_finalize and
 * acp_reset drop ends that are not freed, with their messages and requests. Every thread may make
 * every call, also on one channel at once; not from a signal handler. Calls that fail return what
 * is said here and set acp_errno(): ACP_ERR_STALE (no such channel or request any more),
 * ACP_ERR_ARGUMENT, ACP_ERR_MEMORY (a heap is full, or the process has no memory), ACP_ERR_LIMIT
 * (ACP_CHANNEL_DEPTH requests are under way on the channel), ACP_ERR_PEER, ACP_ERR_UNSUPPORTED
 * (heaps of size 0). */
#ifndef ACP_CHANNEL_H
#define ACP_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a channel, and a request; of the calling process alone. */
typedef struct acp_channel* acp_ch_t;
typedef struct acp_channel_request* acp_request_t;

#ifdef __cplusplus
#define ACP_CH_NULL (static_cast<acp_ch_t>(nullptr))
#define ACP_REQUEST_NULL (static_cast<acp_request_t>(nullptr))
#else
#define ACP_CH_NULL ((acp_ch_t)0)
#define ACP_REQUEST_NULL ((acp_request_t)0)
#endif

/* Makes the calling rank's end of a channel. The calling rank is exactly one of the two, which are
 * 0 .. acp_procs()-1 and differ. Returns ACP_CH_NULL after a failure. Does not wait for the other
 * end; takes two round trips where that is on another node. */
ACP_API acp_ch_t acp_create_ch(int sender, int receiver);

/* Begins to send `size` bytes, 0 .. 2^61-1. They must not be changed, and `buf` must stay valid,
 * until the request has ended. NULL is legal with size 0. Returns ACP_REQUEST_NULL after a failure.
 * Does not block. */
ACP_API acp_request_t acp_nbsend_ch(acp_ch_t ch, const void* buf, size_t size);

/* Begins to receive the next message, of which `buf` gets the first `size` bytes and no byte beyond
 * its length. Otherwise as acp_nbsend_ch. */
ACP_API acp_request_t acp_nbrecv_ch(acp_ch_t ch, void* buf, size_t size);

/* Begins to free the calling rank's end, which takes no further requests. The request ends when
 * those before it have ended and the other end is being freed too. What was sent and is not
 * received is dropped. A receive that the other end has begun, and for which no message is left,
 * fails with ACP_ERR_STALE. */
ACP_API acp_request_t acp_nbfree_ch(acp_ch_t ch);

/* Waits for the end of a request. Returns how many bytes were put into the buffer of a receive, 0
 * for a send or a free, and (size_t)-1 after a failure. ACP_ERR_TRUNCATED: the message was longer
 * than the buffer, which is full; the rest is lost, and the channel works on. Blocks; sleeps when
 * nothing comes for long. */
ACP_API size_t acp_wait_ch(acp_request_t request);

/* Waits for all of them, even where one fails. ACP_REQUEST_NULL is passed over.
 *   requests  `count` of them
 *   sizes     NULL, or room for `count`: as acp_wait_ch returns
 * Returns 0, or -1 where one failed. */
ACP_API int acp_waitall_ch(const acp_request_t* requests, int count, size_t* sizes);

/* acp_wait_ch for at most so long. Returns the code with which the request has ended, ACP_OK,
 * ACP_ERR_TRUNCATED or another, or ACP_ERR_TIMEOUT or ACP_ERR_INTERRUPTED: then it goes on, and may
 * be waited for again.
 *   size        NULL, or as acp_wait_ch returns
 *   timeout_ns  0: only look; < 0: for ever */
ACP_API int acp_wait_ch_timeout(acp_request_t request, size_t* size, int64_t timeout_ns);

/* Looks whether a request has ended: 1, and the request is gone; 0: not yet; -1: it has failed, and
 * is gone. size as above */
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
