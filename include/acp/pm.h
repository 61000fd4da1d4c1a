/* SPDX-License-Identifier: BSD-3-Clause */
/* PM messages: short messages from any rank to any other one through a context, in the shape of
 * PMv2: the program composes a message in a buffer of the library, sends it, and the receiver uses
 * it where it came to lie and gives its place back. Messages of one rank to another one arrive in
 * the order sent, each once and whole. On a node they go through shared memory, between nodes over
 * the network, chosen by the destination.
 *
 * A context is known on all ranks by its number. It takes one block of 2.3 MiB of the rank's heap,
 * and about 0.4 MiB besides, whatever the number of ranks: 64 rings, of 32 KiB each, into which up
 * to 64 ranks send at a time. Where more want to, those whose messages have all been received and
 * who have been silent longest lose their rings to them, without being asked; they get one again
 * with their next message. In the same way a rank sends to up to 64 others at a time. A rank that
 * is stopped, even in the middle of a send, delays nobody else, as long as not 64 are.
 *
 * Whatever is written over the words by which two ranks speak to each other (by a stray pointer,
 * say) is noticed and mended while both make calls on the context; no message is lost, doubled or
 * out of order by it. What is written over a message is not noticed.
 *
 * A message to this node needs nothing more of its sender. One to another node needs calls of the
 * sender on the context, of whatever kind, until acp_test_sent_pm says 1.
 *
 * If a rank dies, or its node is lost, acp_receive_pm and acp_wait_pm tell so once, after all
 * messages that had arrived from it, and acp_get_buffer_pm for it fails, both with ACP_ERR_PEER.
 *
 * A context is used by one thread at a time; several contexts by several threads at once. Not from
 * a signal handler. acp_finalize and acp_reset close all contexts. Calls that fail set acp_errno():
 * ACP_ERR_STALE (no such context, or the destination has closed it), ACP_ERR_ARGUMENT,
 * ACP_ERR_STATE, ACP_ERR_PEER, ACP_ERR_MEMORY, ACP_ERR_UNSUPPORTED (heaps of size 0). */
#ifndef ACP_PM_H
#define ACP_PM_H

#include <stddef.h>
#include <stdint.h>

#include <acp/access.h>
#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A context, of the calling process alone. */
typedef struct acp_pm_context* acp_pm_t;

#ifdef __cplusplus
#define ACP_PM_NULL (static_cast<acp_pm_t>(nullptr))
#else
#define ACP_PM_NULL ((acp_pm_t)0)
#endif

enum {
    ACP_PM_CONTEXTS = 16,        /* numbers of contexts are 0 .. ACP_PM_CONTEXTS-1 */
    ACP_PM_MESSAGE_BYTES = 8192, /* the longest message */
    ACP_PM_RECEIVE_FIRST = 2     /* what acp_wait_buffer_pm returns where there is a message */
};

/* Opens the context of a number, so that others may send to this rank. Waits for nobody: a rank
 * that has not yet opened it has no room for messages. Returns ACP_PM_NULL after a failure;
 * ACP_ERR_STATE: it is open already. */
ACP_API acp_pm_t acp_open_pm(int number);

/* How messages are moved. */
enum {
    ACP_PM_POOL = 0,    /* as told above */
    ACP_PM_PER_PEER = 1 /* as paper 001 does: see acp_open_pm_scheme */
};

/* acp_open_pm by another scheme, the same on all ranks. ACP_PM_PER_PEER is for comparison: each
 * rank has a buffer of 32 KiB to send and one to receive for each rank of the job, and a message is
 * three copies: of its bytes, of a pointer behind them, and of a pointer back when it was released.
 * It has what that paper leaves open: memory that grows with the job, and messages that stop for
 * good once a pointer was overwritten; so a number is opened by it once until acp_finalize or
 * acp_reset (ACP_ERR_STATE after that). Its calls to wait do not sleep, there is no
 * acp_before_select_pm (ACP_ERR_UNSUPPORTED), acp_receive_pm does not tell of ranks that end, what
 * is sent to another node goes on in later calls alone (acp_test_sent_pm), and the first
 * acp_get_buffer_pm for a rank there waits for an answer; ranks of other nodes are not told of a
 * close, and find no room once the closed rank's buffer is full. ACP_ERR_ARGUMENT: no such
 * scheme. */
ACP_API acp_pm_t acp_open_pm_scheme(int number, int scheme);

/* Closes it. Messages that were not received are dropped, and so may those be that this rank has
 * sent to other nodes, unless acp_test_sent_pm has said 1 since. The memory is used again when the
 * number is opened again, and given back by acp_finalize. Returns 0 or -1.
 *
 * What is lost by a close: every message sent on this node before it, and of those from other nodes
 * each for which acp_test_sent_pm had said 1; none of them comes after the context is opened again.
 * A message from another node that arrives while the context is closed is dropped too, and its
 * sender is not told. A message that was composed, or on its way to another node, while it was
 * closed and opened again comes to the new context, or is dropped. acp_get_buffer_pm fails with
 * ACP_ERR_STALE until the context is opened again: on this node from the next call on; on other
 * nodes within a few round trips of the first message sent after the close, at most 16 messages
 * later, or, where there is no room, of the first call that returns 0. Ranks of other nodes may get
 * it for some calls more after the context was opened again. */
ACP_API int acp_close_pm(acp_pm_t pm);

/* Room for one message, until it is sent.
 *   rank    the destination; may be the caller
 *   size    0 .. ACP_PM_MESSAGE_BYTES
 *   buffer  gets the room, aligned to 8 bytes, to be written by the caller
 * Returns 1; 0: there is no room now (the destination does not receive, or has not opened its
 * context, or 64 others are being sent to); -1: a failure. ACP_ERR_STATE: a buffer is out already.
 * Does not block. A sender that gets 0 has to receive what has come meanwhile, as the destination
 * may wait for room in the same way; acp_wait_buffer_pm waits for both. The calls themselves let
 * other ranks of the CPU run now and then. */
ACP_API int acp_get_buffer_pm(acp_pm_t pm, int rank, size_t size, void** buffer);

/* acp_get_buffer_pm that waits, at most timeout_ns nanoseconds (0: looks once; < 0: for ever), and
 * sleeps when there is no room for long. Returns 1: buffer was set; ACP_PM_RECEIVE_FIRST (2): there
 * is no room yet, and acp_receive_pm has something to tell: call that first, as the destination may
 * wait for room here; 0: the time is over; -1: a failure, as of acp_get_buffer_pm. While a message
 * is held it waits for room alone. */
ACP_API int acp_wait_buffer_pm(
    acp_pm_t pm, int rank, size_t size, void** buffer, int64_t timeout_ns);

/* Makes the message that is being composed shorter.   size  at most as it was got. Returns 0 or
 * -1. */
ACP_API int acp_truncate_pm(acp_pm_t pm, size_t size);

/* Sends the message that is being composed. Returns 0, or -1 (ACP_ERR_STATE: there is none). Does
 * not block. */
ACP_API int acp_send_pm(acp_pm_t pm);

/* Whether all messages that were sent have reached the nodes of their destinations, or were dropped
 * since those have closed their contexts: 1 or 0; -1 after a failure. Does not block. */
ACP_API int acp_test_sent_pm(acp_pm_t pm);

/* The next message, in place, until it is released; one at a time.
 *   data    gets where it lies, aligned to 8 bytes
 *   size    gets its length; NULL is legal
 *   source  gets the rank that sent it, also where that has died; NULL is legal
 * Returns 1; 0: there is none now; -1: a failure. ACP_ERR_STATE: one is held already; ACP_ERR_PEER:
 * see above. Does not block. */
ACP_API int acp_receive_pm(acp_pm_t pm, const void** data, size_t* size, int* source);

/* Gives the place of the message back. Returns 0, or -1 (ACP_ERR_STATE: none is held). */
ACP_API int acp_release_pm(acp_pm_t pm);

/* Waits until acp_receive_pm has something to tell. Sleeps when nothing comes for long. timeout_ns
 * < 0: for ever Returns 1; 0: the time is over; -1 after a failure. */
ACP_API int acp_wait_pm(acp_pm_t pm, int64_t timeout_ns);

/* Before a sleep in select(2), poll(2) or epoll_wait(2): for programs that wait for messages and
 * for descriptors of their own at once.
 *   descriptor  gets one that is readable when acp_receive_pm has something to tell, and now and
 *               then without a reason; the same at each call on this context. It belongs to the
 *               library: it is polled, and neither read nor closed. It ends with acp_finalize
 * Returns 1: sleep now, then call acp_after_select_pm; 0: do not sleep, for acp_receive_pm has
 * something to tell, or something is to be sent to another node first (the descriptor is readable,
 * so a program may sleep all the same); -1: a failure. ACP_ERR_STATE: a message is held;
 * ACP_ERR_LIMIT, ACP_ERR_MEMORY: there is no descriptor, or no thread, which the first call makes.
 * No message is missed: one that comes after this call makes the descriptor readable. A sleeper
 * uses no CPU. Does not block. What this rank has sent to other nodes may need its calls: see
 * acp_test_sent_pm, which has said 1 before a long sleep. */
ACP_API int acp_before_select_pm(acp_pm_t pm, int* descriptor);

/* After the sleep, or in place of it: the descriptor is not readable until the next
 * acp_before_select_pm, but for a message of this very moment. All messages are to be received
 * before that. Returns 0 or -1. Does not block. */
ACP_API int acp_after_select_pm(acp_pm_t pm);

/* Gives memory of the program, and the rest of its pages, global addresses for acp_write_pm and
 * acp_read_pm (and acp_copy), until as many calls of acp_unlock_pm. Nothing is pinned. Memory that
 * is locked several times is registered once; after the last acp_unlock_pm nobody else touches it
 * any more, and a copy to or from its old addresses fails.
 *   address, size  mapped memory that may be read and written, size >= 1
 *   first          gets the global address of its first byte; those of the others follow
 * Returns 0 or -1. ACP_ERR_ARGUMENT: there is no such memory; ACP_ERR_LIMIT: there is no room for
 * so much memory. Memory is not unmapped while it is locked, and its protection is not changed. Any
 * thread. Does not block. */
ACP_API int acp_lock_pm(acp_pm_t pm, void* address, size_t size, acp_ga_t* first);

/* Ends one acp_lock_pm. From the last one on no address of the memory may be used any more.
 *   first  an address of the memory
 * Returns 0, or -1 (ACP_ERR_STALE: it is of no memory that is locked). Any thread. Blocks while a
 * thread of this node copies into the memory. */
ACP_API int acp_unlock_pm(acp_pm_t pm, acp_ga_t first);

/* Copies this rank's memory to another rank's, which does nothing for it (write), or the other way
 * (read): in one copy, of any length.
 *   target, source  addresses of locked memory, or any others; the source of a write and the target
 *                   of a read are this rank's
 * Returns a handle, for acp_complete, acp_wait and acp_inquire, which say that the copy is done;
 * ACP_HANDLE_NULL after a failure. ACP_ERR_ARGUMENT: the address that should be this rank's is not.
 * A message is not ordered after the copies before it: it is to be sent when they are done. Any
 * thread. */
ACP_API acp_handle_t acp_write_pm(acp_pm_t pm, acp_ga_t target, acp_ga_t source, size_t size);
ACP_API acp_handle_t acp_read_pm(acp_pm_t pm, acp_ga_t target, acp_ga_t source, size_t size);

#ifdef __cplusplus
}
#endif

#endif
