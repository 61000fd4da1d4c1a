/* SPDX-License-Identifier: BSD-3-Clause */
/* Segmented buffers: a ring of segments that one rank writes and another one reads, each in a
 * buffer of its own. The source fills a segment and sends it (ack); the destination reads it and
 * gives it back (ready). What is sent is there when the destination's calls say so, and neither
 * rank's help is needed for it to arrive.
 *
 *     source                              destination
 *     is a segment free? (isready)        has one come? (isacked)
 *     fill segment `tail`                 read segment `head`
 *     ack: send it; tail moves on         ready: give it back; head moves on
 *
 * An end is made by each of the two ranks for itself, without waiting for the other one; the n-th
 * source that a rank makes for another rank belongs to the n-th destination that the other one
 * makes for it, and both have segments of the same size and number. Buffers are used until
 * acp_free_segbuf returns. One in memory of acp_malloc or starter memory saves a copy or a call of
 * the kernel for each segment.
 *
 * 0 is success, or yes, everywhere; 1 is not yet; -1 is a failure, which acp_errno() and
 * acp_error_message() tell. (ACP 3.0's documentation has 1 for failures too:
 * <acp/compat3_segbuf.h>.) Every thread may make every call, also on one end at once; not from a
 * signal handler. Only acp_connect_segbuf and acp_free_segbuf wait for the other rank. If that is
 * dead, or its node is lost, every call fails with ACP_ERR_PEER, at the destination when it has
 * read what had come. A rank that is stopped is waited for.
 *
 * Errors of all: ACP_ERR_STALE (no such buffer; or the other rank has disconnected, and nothing
 * more will come), ACP_ERR_STATE (not connected; disconnected), ACP_ERR_PEER, ACP_ERR_ARGUMENT (the
 * ends have other sizes). */
#ifndef ACP_SEGBUF_H
#define ACP_SEGBUF_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a segmented buffer; of the calling process alone. */
typedef struct acp_segbuf* acp_segbuf_t;

#ifdef __cplusplus
#define ACP_SEGBUF_NULL (static_cast<acp_segbuf_t>(nullptr))
#else
#define ACP_SEGBUF_NULL ((acp_segbuf_t)0)
#endif

/* Make the calling rank's end, of `segnum` segments of `segsize` bytes that lie one after the other
 * in `buf`. The other rank is 0 .. acp_procs()-1 and not the calling one; both numbers are 1 or
 * more, and their product is below 2^61. The destination takes 8 bytes of its heap for each
 * segment, and room for short segments if `buf` is private memory. Return ACP_SEGBUF_NULL after a
 * failure: ACP_ERR_ARGUMENT, ACP_ERR_MEMORY, ACP_ERR_LIMIT, ACP_ERR_PEER, ACP_ERR_UNSUPPORTED
 * (heaps of size 0). Do not wait for the other end; take two round trips where that is on another
 * node. */
ACP_API acp_segbuf_t acp_create_src_segbuf(int dst_rank,
                                           const void* buf,
                                           size_t segsize,
                                           size_t segnum);
ACP_API acp_segbuf_t acp_create_dst_segbuf(int src_rank, void* buf, size_t segsize, size_t segnum);

/* Waits until the other rank has made its end. Returns 0 or -1. Sleeps when that takes long. */
ACP_API int acp_connect_segbuf(acp_segbuf_t segbuf);

/* 0: the other rank has made its end; 1: not yet; -1. */
ACP_API int acp_isconnected_segbuf(acp_segbuf_t segbuf);

/* Destination: gives the oldest segment back, which the source may then fill anew. Returns 0 or -1
 * (ACP_ERR_LIMIT: there is none). */
ACP_API int acp_ready_segbuf(acp_segbuf_t segbuf);

/* Source: begins to send the next segment, which must not be changed until acp_query_segbuf_sent
 * has passed it or acp_isready_segbuf offers it again. Returns 0 or -1 (ACP_ERR_LIMIT: none is
 * free). */
ACP_API int acp_ack_segbuf(acp_segbuf_t segbuf);

/* 0: at least one segment is free to be filled; 1: none; -1. Of the source; the destination may ask
 * too. */
ACP_API int acp_isready_segbuf(acp_segbuf_t segbuf);

/* 0: at least one segment is there to be read; 1: none; -1. Of the destination; the source may ask
 * too. */
ACP_API int acp_isacked_segbuf(acp_segbuf_t segbuf);

/* Each counts segments since the beginning, or is -1 after a failure; number `count` lies at place
 * count % segnum of the buffer. _head: those given back; _tail: those sent, at the destination
 * those that have come; _sent, of the source alone: those whose bytes have left. head <= sent <=
 * tail <= head + segnum, and the segments from sent on, before the tail, must not change. */
ACP_API int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
ACP_API int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
ACP_API int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);

/* Says that this end is used no more: only acp_free_segbuf may follow. The destination may still
 * read what was sent. Returns 0 or -1. Waits until what was sent is there, but not for the other
 * rank. */
ACP_API int acp_disconnect_segbuf(acp_segbuf_t segbuf);

/* Waits until the other rank has made its end and has disconnected it too, and frees this one.
 * Returns 0; or -1: ACP_ERR_STATE (it was not disconnected: nothing was done), ACP_ERR_STALE,
 * ACP_ERR_PEER (it is freed all the same). Sleeps when that takes long. */
ACP_API int acp_free_segbuf(acp_segbuf_t segbuf);

#ifdef __cplusplus
}
#endif

#endif
