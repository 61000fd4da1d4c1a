/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global memory access: copies and atomics between any two addresses, their order and completion.
 *
 * Every command is issued by a call that does not wait for it and returns a handle. "Earlier"
 * commands of a process are those whose issuing call returned before this one began. The argument
 * `order` says what must be complete before the command starts:
 *   ACP_HANDLE_NULL  nothing
 *   a handle         that command and all earlier ones
 *   ACP_HANDLE_ALL   all commands issued so far
 *   ACP_HANDLE_CONT  the previous command; the library may pipeline the two when they join the same
 *                    ranks
 * Every issued command finishes without any further call by anyone. A command never holds up a
 * later independent one. A command that cannot run gives a *failed handle*: completing it reports
 * the error, and a command ordered after it does not run and fails with ACP_ERR_ORDER. Handles need
 * not be distinct.
 */
#ifndef ACP_ACCESS_H
#define ACP_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t acp_handle_t;

/* The constants are enumerators for tools that read declarations alone (pycparser, bindgen); C and
 * C++ take the macros, which have the type of a handle. */
enum { ACP_HANDLE_NULL = 0, ACP_HANDLE_ALL = -1, ACP_HANDLE_CONT = -2 };

#define ACP_HANDLE_NULL INT64_C(0)
#define ACP_HANDLE_ALL INT64_C(-1)
#define ACP_HANDLE_CONT INT64_C(-2)

/* Copies bytes from source to target; neither rank need help or be the caller.
 *   target, source  addresses of `size` bytes each; the ranges must not overlap unless they are
 *                   equal
 *   size            0 .. the segments' sizes, in bytes; 0 is legal and moves nothing
 *   order           see above
 * A copy of 1, 2, 4 or 8 bytes between addresses aligned to its size is indivisible. There is no
 * order among the bytes of one copy. Returns a handle; ACP_HANDLE_NULL only when the library is not
 * in use (ACP_ERR_STATE, ACP_ERR_FORKED). Errors of the handle: ACP_ERR_ADDRESS, ACP_ERR_STALE,
 * ACP_ERR_ORDER, ACP_ERR_PEER, ACP_ERR_MEMORY, ACP_ERR_SYSTEM, ACP_ERR_UNSUPPORTED
 * (ACP_INTRANODE=direct and private memory of another rank of the node). Does not block below 2^16
 * outstanding commands, above that until one finishes. */
ACP_API acp_handle_t acp_copy(acp_ga_t target, acp_ga_t source, size_t size, acp_handle_t order);

/* One piece of a copy by list: as the first three arguments of acp_copy. */
typedef struct {
    acp_ga_t target;
    acp_ga_t source;
    size_t size;
} acp_copy_range_t;

/* acp_copy_v copies a list of ranges, acp_copy_strided a block of an array of several dimensions,
 * each under one handle.
 *   ranges, count               the list; read before the call returns, NULL only with count 0.
 *                               Targets must not overlap each other or a source
 *   target, source              addresses of the block's first bytes
 *   size                        bytes that lie together, in both arrays
 *   dimensions                  0 .. ACP_DIMENSIONS_MAX: of the arrays, apart from that of the
 *                               bytes that lie together
 *   counts                      how many of those there are along each dimension, the innermost
 *                               first
 *   target_strides, source_strides  bytes from one to the next along each dimension; negative ones
 *                                   step back
 * As so many calls of acp_copy with the same order, in no order among themselves; the handle stands
 * for all of them: to complete, wait for or order after it, and ACP_HANDLE_CONT in the next
 * command, means every one. Ranges that cannot be copied fail by themselves, and are told one by
 * one, the list last (ACP_ERR_ORDER); the others are copied. Where the order has failed, nothing
 * is. Errors of the handle: as acp_copy, ACP_ERR_ARGUMENT (a NULL list, dimensions out of range).
 * Each range counts as a command outstanding. Returns and blocks as acp_copy. */
enum { ACP_DIMENSIONS_MAX = 8 };

ACP_API acp_handle_t acp_copy_v(const acp_copy_range_t* ranges, size_t count, acp_handle_t order);
ACP_API acp_handle_t acp_copy_strided(acp_ga_t target,
                                      const ptrdiff_t* target_strides,
                                      acp_ga_t source,
                                      const ptrdiff_t* source_strides,
                                      size_t size,
                                      const size_t* counts,
                                      int dimensions,
                                      acp_handle_t order);

/* acp_copy with a plain pointer for one end: acp_put copies from the caller's memory at `source` to
 * an address, acp_get from an address to the caller's memory at `target`.
 *   source, target (pointers)  memory of any kind of the caller (stack, heap, static, shared),
 *                              registered or not; of a put readable, of a get readable and
 *                              writable. It stays the caller's. Until the handle is complete it
 *                              must stay mapped; of a put it must not change, however short it is
 *                              (acp_put_copied, acp_wait_source; ACP_CHECK=on tells of one that
 *                              did), and what a get's holds is unspecified. NULL only with size 0.
 *   size                       0 .. what is addressed, in bytes
 * Order, completion, indivisible words, return value and blocking are those of acp_copy, as if the
 * pointer were an address of the caller. Errors of the handle: as acp_copy; ACP_ERR_ARGUMENT (the
 * pointer is NULL or its memory not mapped: found out for long ones; short ones are touched in the
 * call, as memcpy would), ACP_ERR_LIMIT (no room to register it). After a failure nothing writes to
 * a get's memory any more. On the way: see acp_put(3), and acp_path with ACP_GA_NULL. */
ACP_API acp_handle_t acp_put(acp_ga_t target, const void* source, size_t size, acp_handle_t order);
ACP_API acp_handle_t acp_get(void* target, acp_ga_t source, size_t size, acp_handle_t order);

/* acp_put whose source is the caller's again when the call returns: up to 4096 bytes are copied in
 * the call, as a rule; of more the call waits until nobody reads the source any more, which is when
 * the put is complete, so it waits for the order too.
 *   target, source, size, order  as acp_put; of a put of up to 4096 bytes the bytes are those of
 *                                the call, whatever it is ordered after
 * A failure is the handle's, as of acp_put. Returns as acp_copy; blocks as said. */
ACP_API acp_handle_t acp_put_copied(acp_ga_t target,
                                    const void* source,
                                    size_t size,
                                    acp_handle_t order);

/* Waits until the memory of this process from which the commands of `handle` and all earlier ones
 * read (acp_put, acp_put_signal, acp_copy) is not read any more: then it may be changed, and the
 * target may not have all bytes yet. It waits for no get and no atomic. Returns 0, or -1 with
 * ACP_ERR_STATE; failures of commands are not told. Continues after signals. Blocks. */
ACP_API int acp_wait_source(acp_handle_t handle);

/* acp_put, and then an addition to a word, under one handle: whoever reads the word's new value by
 * an acquire load sees the bytes of the put.
 *   target, source, size, order  as acp_put
 *   signal                       an 8-byte word at a multiple of 8, on any rank; it must not
 *                                overlap the target
 *   value                        is added to it, modulo 2^64, when the bytes are there, and never
 *                                when the put failed
 * Between nodes it is one message there and back, as a put alone, when target and signal are on one
 * rank, size is at most 1000, the order is satisfied, and both are starter memory or that rank has
 * a gateway of its own; else the addition leaves when the put has ended. The handle stands for
 * both: it fails with the error of whichever failed; then bytes of the target may have been
 * written. Errors: as acp_put, ACP_ERR_ALIGNMENT. Returns and blocks as acp_copy. */
ACP_API acp_handle_t acp_put_signal(acp_ga_t target,
                                    const void* source,
                                    size_t size,
                                    acp_ga_t signal,
                                    uint64_t value,
                                    acp_handle_t order);

/* Atomics on the 4- or 8-byte word at `source`, on any rank: the word's old value is stored at
 * `target`, on any rank, or nowhere where `target` is ACP_GA_NULL, which saves the store and, to
 * other ranks, a message; both are aligned to the width. Atomics on one word are atomic among all
 * ranks and paths. Errors of the handle: as acp_copy, ACP_ERR_ALIGNMENT. Returns and blocks as
 * acp_copy. */
/* If the word equals `expected` it becomes `desired`. */
ACP_API acp_handle_t
acp_cas4(acp_ga_t target, acp_ga_t source, uint32_t expected, uint32_t desired, acp_handle_t order);
ACP_API acp_handle_t
acp_cas8(acp_ga_t target, acp_ga_t source, uint64_t expected, uint64_t desired, acp_handle_t order);
/* The word becomes `value`. */
ACP_API acp_handle_t acp_swap4(acp_ga_t target,
                               acp_ga_t source,
                               uint32_t value,
                               acp_handle_t order);
ACP_API acp_handle_t acp_swap8(acp_ga_t target,
                               acp_ga_t source,
                               uint64_t value,
                               acp_handle_t order);
/* `value` is added to the word, modulo 2^32 or 2^64. */
ACP_API acp_handle_t acp_add4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_add8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order);
/* The word becomes word XOR value, word OR value, word AND value. */
ACP_API acp_handle_t acp_xor4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_xor8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order);
ACP_API acp_handle_t acp_or4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_or8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order);
ACP_API acp_handle_t acp_and4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_and8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order);
/* The word, a signed number, becomes the less (min) or the greater (max) of what it is and
 * `value`. */
ACP_API acp_handle_t acp_min4(acp_ga_t target, acp_ga_t source, int32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_min8(acp_ga_t target, acp_ga_t source, int64_t value, acp_handle_t order);
ACP_API acp_handle_t acp_max4(acp_ga_t target, acp_ga_t source, int32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_max8(acp_ga_t target, acp_ga_t source, int64_t value, acp_handle_t order);

/* Atomics that wait for themselves, and for nothing else, and return the word's old value; they are
 * ordered after no command under way. What fails is told as acp_complete tells it: with
 * ACP_ON_ERROR=fatal (default) the process ends with the message; with ACP_ON_ERROR=return they
 * return 0 and set acp_errno(): acp_clear_errno() before the call, and acp_errno() after it, tell
 * that 0 from an old value. Errors: as the forms above, ACP_ERR_LIMIT. They block until the word's
 * owner, or its node, has answered; not where the word is mapped here. */
ACP_API uint32_t acp_fetch_cas4(acp_ga_t source, uint32_t expected, uint32_t desired);
ACP_API uint64_t acp_fetch_cas8(acp_ga_t source, uint64_t expected, uint64_t desired);
ACP_API uint32_t acp_fetch_swap4(acp_ga_t source, uint32_t value);
ACP_API uint64_t acp_fetch_swap8(acp_ga_t source, uint64_t value);
ACP_API uint32_t acp_fetch_add4(acp_ga_t source, uint32_t value);
ACP_API uint64_t acp_fetch_add8(acp_ga_t source, uint64_t value);
ACP_API uint32_t acp_fetch_xor4(acp_ga_t source, uint32_t value);
ACP_API uint64_t acp_fetch_xor8(acp_ga_t source, uint64_t value);
ACP_API uint32_t acp_fetch_or4(acp_ga_t source, uint32_t value);
ACP_API uint64_t acp_fetch_or8(acp_ga_t source, uint64_t value);
ACP_API uint32_t acp_fetch_and4(acp_ga_t source, uint32_t value);
ACP_API uint64_t acp_fetch_and8(acp_ga_t source, uint64_t value);
ACP_API int32_t acp_fetch_min4(acp_ga_t source, int32_t value);
ACP_API int64_t acp_fetch_min8(acp_ga_t source, int64_t value);
ACP_API int32_t acp_fetch_max4(acp_ga_t source, int32_t value);
ACP_API int64_t acp_fetch_max8(acp_ga_t source, int64_t value);

/* Waits until `handle` and all earlier commands are complete; returns at once for ACP_HANDLE_NULL,
 * for completed and for never issued handles. When one of them failed: with ACP_ON_ERROR=fatal
 * (default) prints the error and ends the process, with ACP_ON_ERROR=return returns -1 and sets
 * acp_errno() to the first failure; the others are dropped. Else returns 0. Continues after
 * signals. Blocks. */
ACP_API int acp_complete(acp_handle_t handle);

/* 0 when `handle` and all earlier commands are complete (also ACP_HANDLE_NULL, never issued ones),
 * 1 when something is not; -1 with ACP_ERR_STATE. A failed command is complete. Does not block. */
ACP_API int acp_inquire(acp_handle_t handle);

/* Waits like acp_complete, at most timeout_ns nanoseconds (0: only looks; negative: for ever). It
 * lasts longer by what this thread is moving when the time is over: 256 KiB of memory that is
 * private to a rank, 64 MiB of memory that is mapped here. Returns ACP_OK; the code of the first
 * failure among these commands not yet reported (reported by this, each failure once);
 * ACP_ERR_TIMEOUT; ACP_ERR_INTERRUPTED after a signal handler; ACP_ERR_STATE. */
ACP_API int acp_wait(acp_handle_t handle, int64_t timeout_ns);

/* How acp_wait_word compares a word with a value, both as unsigned numbers. */
typedef enum {
    ACP_WORD_EQUAL = 0x60, /* not the value of any other kind of constant */
    ACP_WORD_NOT_EQUAL,
    ACP_WORD_LESS,
    ACP_WORD_LESS_EQUAL,
    ACP_WORD_GREATER,
    ACP_WORD_GREATER_EQUAL
} acp_word_comparison_t;

/* Waits until a word of the caller's own memory compares with `value` as `comparison` says, whoever
 * writes it: a put, a copy or an atomic of any rank, or a plain store.
 *   word        the caller's memory, of any kind, at a multiple of `bytes`; it stays mapped while
 *               the call lasts
 *   bytes       1, 2, 4 or 8
 *   value       fits a word of so many bytes
 *   timeout_ns  as acp_wait: 0 only looks, negative waits for ever
 * Whoever finds the word as wanted sees what the command that wrote it was ordered after: the bytes
 * of an acp_put_signal, and of puts that a put of the word was ordered after. The calling thread
 * spins or yields for a while and then sleeps, and makes progress on all that its process has under
 * way. It is woken by atomics, by acp_put_signal, and by all that comes from other nodes; a plain
 * store, or a short acp_put or acp_copy by a rank of the same node, rings nobody: the sleeper sees
 * it after at most a 32nd of the time that it has waited, and 1 ms (16 ms where the machine's timer
 * is so dear that 1 ms would take more than 0.2 % of a CPU). Returns ACP_OK, ACP_ERR_TIMEOUT,
 * ACP_ERR_INTERRUPTED after a signal handler, ACP_ERR_PEER when a rank is gone of which no call of
 * this process has told (every call under way tells, or else the next one), ACP_ERR_ARGUMENT,
 * ACP_ERR_ALIGNMENT, ACP_ERR_STATE, ACP_ERR_FORKED. Blocks. */
ACP_API int acp_wait_word(const volatile void* word,
                          size_t bytes,
                          acp_word_comparison_t comparison,
                          uint64_t value,
                          int64_t timeout_ns);

/* The path bytes take between two addresses. */
typedef struct {
    /* "direct", "attach", "mailbox", "udp", "remote" (an end on another node, registered there or
     * not), or "none" (no such memory); static text */
    const char* name;
    /* 1: needs a thread of the owning process to run (it may compute, not be stopped) */
    int owner_must_help;
} acp_path_t;

/* Which path an acp_copy from source to target takes now. ACP_GA_NULL for one of them stands for a
 * plain pointer of the caller, as acp_put and acp_get take it. After a failure (ACP_ERR_STATE) the
 * name is "none" and owner_must_help is -1. Does not block. */
ACP_API acp_path_t acp_path(acp_ga_t target, acp_ga_t source);

#ifdef __cplusplus
}
#endif

#endif
