/* SPDX-License-Identifier: BSD-3-Clause */
/* PM messages: short messages from any rank to any other rank through a context, in the style of
 * PMv2. The sender composes a message in a buffer of the library and sends it; the receiver reads
 * it in place and releases its place. Messages from one rank to another arrive whole, once, and in
 * the order sent. A message to a rank of the same node goes through shared memory, to another node
 * over the network.
 *
 * A number names a context on all ranks. For any number of ranks it takes one block of 2.3 MiB of
 * the rank's heap and about 0.4 MiB of other memory: 64 rings of 32 KiB each, into which up to 64
 * ranks send at a time. When a further rank sends, it takes the ring of the rank that has been
 * silent longest among those whose messages have all been received; that rank gets a ring again
 * with its next message and does not take part in this. In the same way a rank sends to up to 64
 * other ranks at a time. A rank that is stopped, even in the middle of a send, delays no other rank
 * while fewer than 64 ranks are stopped.
 *
 * When a stray store overwrites the control words between two ranks, the ranks detect and repair
 * that while both make calls on the context; no message is lost, duplicated or reordered. A store
 * over the bytes of a message is not detected.
 *
 * A message to the same node needs no further call of its sender. A message to another node needs
 * calls of the sender on the context, of any kind, until acp_test_sent_pm returns 1.
 *
 * If a rank dies, or its node is lost, acp_receive_pm and acp_wait_pm fail once with ACP_ERR_PEER,
 * after all messages of that rank that had arrived; acp_get_buffer_pm for that rank fails with
 * ACP_ERR_PEER from then on.
 *
 * One thread at a time uses a context; several threads may use several contexts at once. Not from a
 * signal handler. acp_finalize and acp_reset close all contexts. Calls that fail set acp_errno():
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

/* A context. The handle is valid in the calling process alone. */
typedef struct acp_pm_context* acp_pm_t;

#ifdef __cplusplus
#define ACP_PM_NULL (static_cast<acp_pm_t>(nullptr))
#else
#define ACP_PM_NULL ((acp_pm_t)0)
#endif

enum {
    ACP_PM_CONTEXTS = 16,        /* numbers of contexts are 0 .. ACP_PM_CONTEXTS-1 */
    ACP_PM_MESSAGE_BYTES = 8192, /* the longest message */
    ACP_PM_RECEIVE_FIRST = 2     /* result of acp_wait_buffer_pm: receive a message first */
};

/* Opens the context of a number, so that other ranks may send to this rank. Does not wait for other
 * ranks: a rank that has not opened the context yet has no room for messages. Returns ACP_PM_NULL
 * after a failure; ACP_ERR_STATE: the context is open already. */
ACP_API acp_pm_t acp_open_pm(int number);

/* Closes a context. Messages that this rank has not received are discarded; messages that it has
 * sent to other nodes may be discarded too, unless acp_test_sent_pm has returned 1 since. The
 * memory is reused when the number is opened again, and freed by acp_finalize. Returns 0 or -1.
 *
 * A close discards every message that ranks of this node sent before it, and every message from
 * another node for which the sender's acp_test_sent_pm had returned 1; none of them arrives after
 * the context is opened again. A message from another node that arrives while the context is closed
 * is discarded too, without notice to its sender. A message that was being composed, or was in
 * flight from another node, while the context was closed and opened again arrives in the new
 * context or is discarded. For other ranks acp_get_buffer_pm fails with ACP_ERR_STALE until the
 * context is opened again: on this node from the next call on; on another node within a few round
 * trips of the first message sent after the close, at most 16 messages later, or, when there is no
 * room, of the first call that returns 0. Ranks of other nodes may get the error for some more
 * calls after the context was opened again. */
ACP_API int acp_close_pm(acp_pm_t pm);

/* Reserves room for one message, until it is sent.
 *   rank    the destination; may be the caller
 *   size    0 .. ACP_PM_MESSAGE_BYTES
 *   buffer  becomes the address of the room, aligned to 8 bytes, for the caller to write
 * Returns 1; 0: there is no room now (the destination does not receive, or has not opened its
 * context, or this rank is sending to 64 other ranks); -1: a failure. ACP_ERR_STATE: the caller
 * holds a buffer already. Does not block. A sender that gets 0 must receive the messages that have
 * arrived, since the destination may be waiting for room at the sender; acp_wait_buffer_pm waits
 * for both. The call sometimes yields the CPU to other ranks. */
ACP_API int acp_get_buffer_pm(acp_pm_t pm, int rank, size_t size, void** buffer);

/* acp_get_buffer_pm that waits, at most timeout_ns nanoseconds (0: polls once; < 0: for ever), and
 * sleeps when there is no room for long. Returns 1: buffer is set; ACP_PM_RECEIVE_FIRST (2): there
 * is no room yet, and acp_receive_pm would return a message or an error: call that first, since the
 * destination may be waiting for room at this rank; 0: the time limit has passed; -1: a failure, as
 * of acp_get_buffer_pm. While the caller holds a received message the call waits for room alone. */
ACP_API int acp_wait_buffer_pm(
    acp_pm_t pm, int rank, size_t size, void** buffer, int64_t timeout_ns);

/* Makes the message that is being composed shorter. Returns 0 or -1.
 *   size  at most the size given to acp_get_buffer_pm */
ACP_API int acp_truncate_pm(acp_pm_t pm, size_t size);

/* Sends the message that is being composed. Returns 0, or -1 (ACP_ERR_STATE: no message is being
 * composed). Does not block. */
ACP_API int acp_send_pm(acp_pm_t pm);

/* 1 when all messages that this rank sent have reached the nodes of their destinations, or were
 * discarded because the destinations have closed their contexts; else 0; -1 after a failure. Does
 * not block. */
ACP_API int acp_test_sent_pm(acp_pm_t pm);

/* Returns the next message in place; the caller holds it until it releases it, one at a time.
 *   data    becomes the address of its bytes, aligned to 8
 *   size    becomes its length; NULL is legal
 *   source  becomes the rank that sent it, or the rank that died (ACP_ERR_PEER); NULL is legal
 * Returns 1; 0: no message has arrived; -1: a failure. ACP_ERR_STATE: the caller holds a message
 * already; ACP_ERR_PEER: see above. Does not block. */
ACP_API int acp_receive_pm(acp_pm_t pm, const void** data, size_t* size, int* source);

/* Gives the place of the message back. Returns 0, or -1 (ACP_ERR_STATE: none is held). */
ACP_API int acp_release_pm(acp_pm_t pm);

/* Waits until acp_receive_pm would return a message or an error. Sleeps when no message arrives for
 * long. Returns 1; 0: the time limit has passed; -1 after a failure.
 *   timeout_ns  < 0: for ever */
ACP_API int acp_wait_pm(acp_pm_t pm, int64_t timeout_ns);

/* Before a sleep in select(2), poll(2) or epoll_wait(2): for programs that wait for messages and
 * for descriptors of their own at once.
 *   descriptor  becomes a descriptor that is readable when acp_receive_pm would return a message or
 *               an error, and sometimes without a reason; the same at each call on this context. It
 *               belongs to the library: the program polls it, and neither reads nor closes it.
 *               acp_finalize closes it
 * Returns 1: sleep now, then call acp_after_select_pm; 0: do not sleep: acp_receive_pm would return
 * a message or an error, or this rank must first send to another node (the descriptor is readable,
 * so a sleep would end at once); -1: a failure. ACP_ERR_STATE: the caller holds a message;
 * ACP_ERR_LIMIT, ACP_ERR_MEMORY: the first call could not make the descriptor or a thread. No
 * message is missed: one that arrives after this call makes the descriptor readable. A sleeper uses
 * no CPU. Does not block. Messages of this rank to other nodes may need its calls: before a long
 * sleep call until acp_test_sent_pm returns 1. */
ACP_API int acp_before_select_pm(acp_pm_t pm, int* descriptor);

/* Call it after the sleep, or in place of it: the descriptor is not readable until the next
 * acp_before_select_pm, unless a message arrives at this very moment. Receive all messages before
 * the next acp_before_select_pm. Returns 0 or -1. Does not block. */
ACP_API int acp_after_select_pm(acp_pm_t pm);

/* Gives the pages of some memory of the program global addresses for acp_write_pm and acp_read_pm
 * (and acp_copy), until acp_unlock_pm was called as often. It does not pin the pages. Memory that
 * is locked several times is registered once; after the last acp_unlock_pm no other process
 * accesses it, and a copy to or from its old addresses fails.
 *   address, size  mapped memory that may be read and written, size >= 1
 *   first          becomes the global address of its first byte; the addresses of the other bytes
 *                  follow
 * Returns 0 or -1. ACP_ERR_ARGUMENT: the memory is not mapped readable and writable; ACP_ERR_LIMIT:
 * the address layout has no room for this size. The program must not unmap locked memory or change
 * its protection. Any thread. Does not block. */
ACP_API int acp_lock_pm(acp_pm_t pm, void* address, size_t size, acp_ga_t* first);

/* Ends one acp_lock_pm. After the last one the program must not use any address of the memory.
 *   first  an address of the memory
 * Returns 0, or -1 (ACP_ERR_STALE: `first` is in no locked memory). Any thread. Blocks while a
 * thread of this node copies into the memory. */
ACP_API int acp_unlock_pm(acp_pm_t pm, acp_ga_t first);

/* Copies this rank's memory to another rank's (write), or another rank's to this rank's (read), in
 * one copy of any length. The other rank makes no call for it.
 *   target, source  addresses of locked memory, or any other global addresses; the source of a
 *                   write and the target of a read are this rank's
 * Returns a handle for acp_complete, acp_wait and acp_inquire; ACP_HANDLE_NULL after a failure.
 * ACP_ERR_ARGUMENT: the address that must be this rank's is another rank's. Messages are not
 * ordered after copies: send a message that announces a copy when the copy is complete. Any
 * thread. */
ACP_API acp_handle_t acp_write_pm(acp_pm_t pm, acp_ga_t target, acp_ga_t source, size_t size);
ACP_API acp_handle_t acp_read_pm(acp_pm_t pm, acp_ga_t target, acp_ga_t source, size_t size);

#ifdef __cplusplus
}
#endif

#endif
