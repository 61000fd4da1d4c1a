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
 * order among the bytes of one copy. Returns a handle; ACP_HANDLE_NULL only when the call itself
 * failed: ACP_ERR_STATE, ACP_ERR_FORKED, ACP_ERR_MEMORY (no memory for the library's own records).
 * Errors of the handle: ACP_ERR_ADDRESS, ACP_ERR_STALE, ACP_ERR_ORDER, ACP_ERR_PEER,
 * ACP_ERR_MEMORY, ACP_ERR_SYSTEM, ACP_ERR_UNSUPPORTED (ACP_INTRANODE=direct and private memory of
 * another rank of the node). Does not block below 2^16 outstanding commands, above that until one
 * finishes. */
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
 *   size                        bytes of one contiguous piece, in both arrays
 *   dimensions                  0 .. ACP_DIMENSIONS_MAX: how many the pieces are repeated along
 *   counts                      number of pieces along each dimension, the innermost first
 *   target_strides, source_strides  bytes from one piece to the next along each dimension; may be
 *                                   negative
 * Each range is copied as by an acp_copy with the same order; the ranges have no order among
 * themselves. The handle stands for all ranges: to complete it, to wait for it, to order a command
 * after it, or to give ACP_HANDLE_CONT to the next command includes every range. A range that
 * cannot be copied fails alone; the other ranges are copied. acp_wait reports the failed ranges one
 * by one, and last the failure of the list (ACP_ERR_ORDER). When the order failed, no range is
 * copied. Errors of the handle: as acp_copy, ACP_ERR_ARGUMENT (a NULL list, dimensions out of
 * range). Each range counts as an outstanding command. Returns and blocks as acp_copy. */
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
 *   source, target (pointers)  the caller's memory, of any kind (stack, heap, static, shared),
 *                              registered or not: readable for a put, readable and writable for a
 *                              get. It stays the caller's and must stay mapped until the handle is
 *                              complete. Until then the caller must not change a put's source,
 *                              however short (but see acp_put_copied and acp_wait_source;
 *                              ACP_CHECK=on reports a source that changed), and a get's target
 *                              holds unspecified bytes. NULL only with size 0.
 *   size                       0 .. the size of the addressed memory, in bytes
 * Order, completion, indivisible words, return value and blocking are those of acp_copy, as if the
 * pointer were an address of the caller. Errors of the handle: as acp_copy; ACP_ERR_ARGUMENT (the
 * pointer is NULL, or the library found its memory unmapped when it registered it; where the
 * calling thread moves the bytes, unmapped memory faults as in memcpy), ACP_ERR_LIMIT (no room to
 * register the memory). Once a failed get is complete, no thread writes to its target. acp_put(3)
 * and acp_path with ACP_GA_NULL say which path the bytes take. */
ACP_API acp_handle_t acp_put(acp_ga_t target, const void* source, size_t size, acp_handle_t order);
ACP_API acp_handle_t acp_get(void* target, acp_ga_t source, size_t size, acp_handle_t order);

/* acp_put whose source the caller may change when the call returns. Up to 4096 bytes are copied in
 * the call, as long as the library has a free buffer. For longer sources, and without a free
 * buffer, the call returns when the put is complete, so it waits for the order too.
 *   target, source, size, order  as acp_put; up to 4096 bytes are put as they were during the call,
 *                                also when the order is satisfied later
 * The handle carries a failure, as after acp_put. Returns as acp_copy. Blocks as described
 * above. */
ACP_API acp_handle_t acp_put_copied(acp_ga_t target,
                                    const void* source,
                                    size_t size,
                                    acp_handle_t order);

/* Waits until the command of `handle` and all earlier ones (acp_put, acp_put_signal, acp_copy) have
 * read their sources in this process's memory. Then the program may change these sources; their
 * bytes may not have arrived at the targets yet. The call waits for no get and no atomic. Returns
 * 0, or -1 with ACP_ERR_STATE; it reports no failure of a command. Continues after signals.
 * Blocks. */
ACP_API int acp_wait_source(acp_handle_t handle);

/* acp_put, and then an addition to a word, under one handle: a thread that reads the word's new
 * value by an acquire load sees the bytes of the put.
 *   target, source, size, order  as acp_put
 *   signal                       an 8-byte word at a multiple of 8, on any rank; it must not
 *                                overlap the target
 *   value                        is added to the word, modulo 2^64, when the bytes are at the
 *                                target, and never when the put failed
 * Between nodes put and addition take one round trip, as a put alone, when target and signal are on
 * one rank, size is at most 1000, the order is satisfied, and both are starter memory or that rank
 * is the gateway of its node; else the addition is sent when the put is complete. The handle stands
 * for both: it fails with the error of the put or of the addition; bytes of the target may have
 * been written then. Errors: as acp_put, ACP_ERR_ALIGNMENT. Returns and blocks as acp_copy. */
ACP_API acp_handle_t acp_put_signal(acp_ga_t target,
                                    const void* source,
                                    size_t size,
                                    acp_ga_t signal,
                                    uint64_t value,
                                    acp_handle_t order);

/* Atomics on the 4- or 8-byte word at `source`, on any rank: the word's old value is stored at
 * `target`, on any rank. With target ACP_GA_NULL the old value is dropped, which saves the store
 * and, between ranks, a message. Both addresses are aligned to the width. Atomics on one word are
 * atomic among all ranks and paths. Errors of the handle: as acp_copy, ACP_ERR_ALIGNMENT. Returns
 * and blocks as acp_copy. */
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
/* The word becomes the minimum or the maximum of the word and `value`, both signed. */
ACP_API acp_handle_t acp_min4(acp_ga_t target, acp_ga_t source, int32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_min8(acp_ga_t target, acp_ga_t source, int64_t value, acp_handle_t order);
ACP_API acp_handle_t acp_max4(acp_ga_t target, acp_ga_t source, int32_t value, acp_handle_t order);
ACP_API acp_handle_t acp_max8(acp_ga_t target, acp_ga_t source, int64_t value, acp_handle_t order);

/* Blocking atomics: each returns the word's old value. It waits for its own completion alone and is
 * ordered after no outstanding command. A failure ends the process with the message under
 * ACP_ON_ERROR=fatal (default). Under ACP_ON_ERROR=return the call returns 0 and sets acp_errno();
 * to distinguish this 0 from an old value, call acp_clear_errno() before and acp_errno() after it.
 * Errors: as the forms above, ACP_ERR_LIMIT. Blocks until the word's owner, or its node, has
 * answered; does not block when the word is mapped in the caller. */
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
 * acp_errno() to the first failure; the other failures are discarded. Else returns 0. Continues
 * after signals. Blocks. */
ACP_API int acp_complete(acp_handle_t handle);

/* 0 when `handle` and all earlier commands are complete (also for ACP_HANDLE_NULL and handles never
 * issued), 1 when one is outstanding; -1 with ACP_ERR_STATE. A failed command is complete. Does not
 * block. */
ACP_API int acp_inquire(acp_handle_t handle);

/* Waits like acp_complete, at most timeout_ns nanoseconds (0: polls once; negative: for ever). It
 * returns later than that by the time of the piece that this thread is copying then: up to 256 KiB
 * of a rank's private memory, up to 64 MiB of memory that is mapped in the caller. Returns ACP_OK;
 * the code of the first failure among these commands not yet reported (reported by this, each
 * failure once); ACP_ERR_TIMEOUT; ACP_ERR_INTERRUPTED after a signal handler; ACP_ERR_STATE. */
ACP_API int acp_wait(acp_handle_t handle, int64_t timeout_ns);

/* How acp_wait_word compares a word with a value, both as unsigned numbers. */
typedef enum {
    ACP_WORD_EQUAL = 0x60, /* no other constant of ACP has this value */
    ACP_WORD_NOT_EQUAL,
    ACP_WORD_LESS,
    ACP_WORD_LESS_EQUAL,
    ACP_WORD_GREATER,
    ACP_WORD_GREATER_EQUAL
} acp_word_comparison_t;

/* Waits until a word of the caller's own memory compares with `value` as `comparison` says. Any
 * put, copy or atomic of any rank, or a plain store, may write the word.
 *   word        the caller's memory, of any kind, at a multiple of `bytes`; it stays mapped while
 *               the call lasts
 *   bytes       1, 2, 4 or 8
 *   value       fits a word of `bytes` bytes
 *   timeout_ns  as acp_wait: 0 polls once, negative waits for ever
 * When the call returns ACP_OK the caller sees all that the command that wrote the word was ordered
 * after: the bytes of an acp_put_signal, and of the puts that a put of the word was ordered after.
 * The calling thread spins or yields for a while and then sleeps, and makes progress on all
 * outstanding work of its process. Atomics, acp_put_signal and all commands from other nodes wake
 * it. A plain store, or a short acp_put or acp_copy by a rank of the same node, wakes no thread:
 * the sleeper polls the word after each 32nd of the time that it has slept, at least once in 1 ms
 * (16 ms where polls each 1 ms would take more than 0.2 % of a CPU). Returns ACP_OK,
 * ACP_ERR_TIMEOUT, ACP_ERR_INTERRUPTED after a signal handler, ACP_ERR_PEER when a rank has died
 * whose death no acp_wait_word of this process has reported (all calls that wait then report it, or
 * else the next one), ACP_ERR_ARGUMENT, ACP_ERR_ALIGNMENT, ACP_ERR_STATE, ACP_ERR_FORKED.
 * Blocks. */
ACP_API int acp_wait_word(const volatile void* word,
                          size_t bytes,
                          acp_word_comparison_t comparison,
                          uint64_t value,
                          int64_t timeout_ns);

/* The path bytes take between two addresses. */
typedef struct {
    /* "direct", "attach", "mailbox", "udp", "remote" (an address on another node, registered there
     * or not), or "none" (an address names no memory); static text */
    const char* name;
    /* 1: a thread of the owning process must run; the process may compute, but not be stopped */
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
