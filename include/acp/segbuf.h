/* SPDX-License-Identifier: BSD-3-Clause */
/* Segmented buffers: a ring of segments that one rank, the source, writes and another rank, the
 * destination, reads, each in a buffer of its own. The source fills a segment and sends it (ack);
 * the destination reads it and gives it back (ready). A segment arrives without any further call of
 * either rank; the calls of the destination report its arrival.
 *
 *     source                              destination
 *     is a segment free? (isready)        has one come? (isacked)
 *     fill segment `tail`                 read segment `head`
 *     ack: send it; tail moves on         ready: give it back; head moves on
 *
 * Each of the two ranks makes its own end, without waiting for the other rank. The n-th source that
 * rank A makes for rank B is connected to the n-th destination that B makes for A; both have
 * segments of the same size and number. The library uses a buffer until acp_free_segbuf returns. A
 * buffer in memory of acp_malloc or in starter memory saves a copy or a system call for each
 * segment.
 *
 * Every call of type int returns 0 for success or yes, 1 for not yet, and -1 for a failure, which
 * sets acp_errno() and acp_error_message(). (ACP 3.0's documentation has 1 for failures too:
 * <acp/compat3_segbuf.h>.) Any thread may make every call, also several threads on one end at once;
 * not from a signal handler. Only acp_connect_segbuf and acp_free_segbuf wait for the other rank.
 * If the other rank is dead, or its node is lost, every call fails with ACP_ERR_PEER, at the
 * destination after it has read the segments that had arrived. Calls wait for a stopped rank.
 *
 * Errors of all calls: ACP_ERR_STALE (no such buffer; or the other rank has disconnected, and no
 * further segment will arrive), ACP_ERR_STATE (not connected; disconnected), ACP_ERR_PEER,
 * ACP_ERR_ARGUMENT (the ends have other sizes). */
#ifndef ACP_SEGBUF_H
#define ACP_SEGBUF_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a segmented buffer. The handle is valid in the calling process alone. */
typedef struct acp_segbuf* acp_segbuf_t;

#ifdef __cplusplus
#define ACP_SEGBUF_NULL (static_cast<acp_segbuf_t>(nullptr))
#else
#define ACP_SEGBUF_NULL ((acp_segbuf_t)0)
#endif

/* Make the calling rank's end, of `segnum` segments of `segsize` bytes that lie one after the other
 * in `buf`. The other rank is 0 .. acp_procs()-1 and not the calling rank; `segsize` and `segnum`
 * are 1 or more, and their product is below 2^61. The destination takes 8 bytes of its heap for
 * each segment, and room for short segments if `buf` is private memory. Return ACP_SEGBUF_NULL
 * after a failure: ACP_ERR_ARGUMENT, ACP_ERR_MEMORY, ACP_ERR_LIMIT, ACP_ERR_PEER,
 * ACP_ERR_UNSUPPORTED (heaps of size 0). Do not wait for the other rank to make its end; take two
 * round trips when that rank is on another node. */
ACP_API acp_segbuf_t acp_create_src_segbuf(int dst_rank,
                                           const void* buf,
                                           size_t segsize,
                                           size_t segnum);
ACP_API acp_segbuf_t acp_create_dst_segbuf(int src_rank, void* buf, size_t segsize, size_t segnum);

/* Waits until the other rank has made its end. Returns 0 or -1. Sleeps when that takes long. */
ACP_API int acp_connect_segbuf(acp_segbuf_t segbuf);

/* 0: the other rank has made its end; 1: not yet; -1. */
ACP_API int acp_isconnected_segbuf(acp_segbuf_t segbuf);

/* Destination: gives the oldest segment back, so that the source may fill it again. Returns 0 or -1
 * (ACP_ERR_LIMIT: no segment has arrived). */
ACP_API int acp_ready_segbuf(acp_segbuf_t segbuf);

/* Source: begins to send the next segment. The program must not change it until
 * acp_query_segbuf_sent has passed it or acp_isready_segbuf reports it free again. Returns 0 or -1
 * (ACP_ERR_LIMIT: no segment is free). */
ACP_API int acp_ack_segbuf(acp_segbuf_t segbuf);

/* 0: the source may fill at least one segment; 1: none; -1. For the source; the destination may
 * call it too. */
ACP_API int acp_isready_segbuf(acp_segbuf_t segbuf);

/* 0: the destination may read at least one segment; 1: none; -1. For the destination; the source
 * may call it too. */
ACP_API int acp_isacked_segbuf(acp_segbuf_t segbuf);

/* Counts of segments since the end was made, or -1 after a failure; segment number `count` lies at
 * place count % segnum of the buffer. _head counts the segments given back. _tail counts the
 * segments sent; at the destination, the segments arrived. _sent, at the source only, counts the
 * segments whose bytes the library has read. head <= sent <= tail <= head + segnum; the source must
 * not change the segments from sent up to tail. */
ACP_API int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
ACP_API int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
ACP_API int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);

/* Ends the use of this end: only acp_free_segbuf may follow. The destination may still read the
 * segments that were sent. Returns 0 or -1. Waits until the segments sent have arrived, but not for
 * a call of the other rank. */
ACP_API int acp_disconnect_segbuf(acp_segbuf_t segbuf);

/* Waits until the other rank has made its end and has disconnected it too, and frees this end.
 * If that rank never makes its end, waits for ever, unless that rank dies.
 * Returns 0; or -1: ACP_ERR_STATE (this end was not disconnected; nothing is done), ACP_ERR_STALE,
 * ACP_ERR_PEER (this end is freed all the same). Sleeps when that takes long. */
ACP_API int acp_free_segbuf(acp_segbuf_t segbuf);

#ifdef __cplusplus
}
#endif

#endif
