/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that run in the process of a device. A device process is started by a rank and belongs
 * to it. It loads libraries, and each of its contexts is a thread that calls their functions one
 * after the other, in the order in which the rank posted them. Today's only device is number 0: a
 * process of the own node (acp-worker), which has the heaps and the starter memory of all ranks of
 * the node mapped, so that addresses in them are arguments without a copy. Not part of acp.h.
 *
 * Calls fail with -1, or the null value of their type, and set acp_errno(): ACP_ERR_STALE (what is
 * named was destroyed, closed or freed, or its epoch has ended), ACP_ERR_PEER (the device process has
 * ended; the message says how), ACP_ERR_ARGUMENT, ACP_ERR_MEMORY, ACP_ERR_LIMIT. Any thread may
 * make every call; not from a signal handler. acp_reset and acp_finalize end all device processes
 * of the rank, and calls that run in them. */
#ifndef ACP_OFFLOAD_H
#define ACP_OFFLOAD_H

#include <stddef.h>
#include <stdint.h>

#include <acp/access.h>
#include <acp/error.h>
#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acp_device_process* acp_process_t;
typedef struct acp_device_context* acp_context_t;
typedef struct acp_device_args* acp_args_t;

#ifdef __cplusplus
#define ACP_PROCESS_NULL (static_cast<acp_process_t>(nullptr))
#define ACP_CONTEXT_NULL (static_cast<acp_context_t>(nullptr))
#define ACP_ARGS_NULL (static_cast<acp_args_t>(nullptr))
#else
#define ACP_PROCESS_NULL ((acp_process_t)0)
#define ACP_CONTEXT_NULL ((acp_context_t)0)
#define ACP_ARGS_NULL ((acp_args_t)0)
#endif

/* Starts a process on a device.   device  0   program  path of a program that runs acp-worker with
 * its arguments, or NULL: acp-worker itself. Blocks until the process serves calls, for up to 30
 * seconds. Errors: ACP_ERR_ARGUMENT (no such device or program), ACP_ERR_PEER (it ended before it
 * served calls), ACP_ERR_TIMEOUT (it has not served calls within 30 seconds, and was killed),
 * ACP_ERR_UNSUPPORTED (acp-worker is not installed beside the library), ACP_ERR_SYSTEM. */
ACP_API acp_process_t acp_create_process(int device, const char* program);

/* Waits for all calls of a process's contexts, closes them, and ends the process. Returns its exit
 * status as a shell does: its exit code, or 128 + the signal that killed it; ACP_NONE if a wait of
 * the program itself has taken the status. A process that has ended is destroyed in the same way. */
ACP_API int acp_destroy_process(acp_process_t process);

/* The process id, for ps and kill. ACP_NONE if the process has ended. */
ACP_API int acp_query_process(acp_process_t process);

/* Loads a library into a process; path is as for dlopen(3). Returns its number, from 1. Errors:
 * ACP_ERR_ARGUMENT, with the loader's words. */
ACP_API int acp_load_library(acp_process_t process, const char* path);

/* Unloads a library. Calls of its functions must have ended. Returns 0. */
ACP_API int acp_unload_library(acp_process_t process, int library);

/* The address in the process of a function or variable of a library; UINT64_MAX after a failure:
 * ACP_ERR_ARGUMENT (no such library or symbol).
 *   library  a number of acp_load_library, or 0: the program that the process runs, and the
 *            libraries that it was linked with */
ACP_API uint64_t acp_find_symbol(acp_process_t process, int library, const char* name);

/* The pointer by which functions of a process reach the memory of a global address, as
 * acp_set_address_args passes it. It is the same in all device processes of the rank, and a pointer
 * of the rank itself to the same memory: another one than acp_query_address returns, valid until
 * acp_reset or acp_finalize. Returns NULL after a failure: ACP_ERR_ADDRESS, ACP_ERR_UNSUPPORTED
 * (private memory, or memory of another node). */
ACP_API void* acp_query_device_pointer(acp_process_t process, acp_ga_t address);

/* Opens a context: a thread of the process, and a queue of calls for it. Errors: ACP_ERR_LIMIT (16
 * contexts of the process are open). */
ACP_API acp_context_t acp_open_context(acp_process_t process);

/* Waits for the calls of a context, and closes it. Results that were not taken are lost. Returns 0,
 * or -1: ACP_ERR_PEER (the context is closed all the same). */
ACP_API int acp_close_context(acp_context_t context);

/* Waits until all calls have ended that were begun on a context. Returns 0. */
ACP_API int acp_sync_context(acp_context_t context);

/* Makes an empty list of arguments. It may be used for any number of calls, by one thread at a
 * time. */
ACP_API acp_args_t acp_create_args(void);
ACP_API int acp_free_args(acp_args_t args);
/* Removes all arguments. */
ACP_API int acp_clear_args(acp_args_t args);

/* Set an argument.   index  0 .. 255; an argument below the highest one that was not set is the
 * integer 0. Return 0. Integers and pointers of all widths are int64_t, converted as C does. */
ACP_API int acp_set_int_args(acp_args_t args, int index, int64_t value);
ACP_API int acp_set_double_args(acp_args_t args, int index, double value);
ACP_API int acp_set_float_args(acp_args_t args, int index, float value);
/* The function gets a pointer to the memory of the address. Errors: ACP_ERR_ADDRESS,
 * ACP_ERR_UNSUPPORTED (private memory, or memory of another node). */
ACP_API int acp_set_address_args(acp_args_t args, int index, acp_ga_t address);

/* Whether the function reads a buffer, writes it, or both. */
enum { ACP_BUFFER_IN = 0, ACP_BUFFER_OUT = 1, ACP_BUFFER_INOUT = 2 };

/* The function gets a pointer to a copy of the buffer, aligned to 16 bytes: acp_begin_call copies IN
 * and INOUT buffers to the process; OUT and INOUT buffers have come back when acp_wait_call or
 * acp_test_call has returned the call's result, or acp_sync_context has returned. Until then they
 * must stay. Errors: ACP_ERR_LIMIT (all buffers of a call together exceed 63 MiB),
 * ACP_ERR_UNSUPPORTED (the buffer lies in shared pages, in a job of several nodes). */
ACP_API int acp_set_buffer_args(acp_args_t args, int index, int intent, void* buffer, size_t size);

/* What the function returns. ACP_RESULT_INT is the default, and also for functions that return
 * nothing. The result of a call is the bits of a double (REAL), or in its low half of a float. */
enum { ACP_RESULT_INT = 0, ACP_RESULT_DOUBLE = 1, ACP_RESULT_FLOAT = 2 };

ACP_API int acp_set_result_args(acp_args_t args, int kind);

/* Begins a call of a function: returns its number in the context, from 1. Waits only while 64 calls
 * of the context are in flight, or their buffers fill 63 MiB.
 *   function  an address of acp_find_symbol
 *   args      copied; ACP_ARGS_NULL: none
 * Errors: ACP_ERR_LIMIT (the results of 65536 calls were not taken). */
ACP_API int64_t acp_begin_call(acp_context_t context, uint64_t function, acp_args_t args);

/* Issues a call of a function as a command, like acp_copy; returns its handle. The call begins when
 * the commands have ended that `order` names, and the handle ends when the function has returned.
 * Calls that may begin at the same time begin in the order in which they were issued. The call of any
 * later command may name the handle as its order, and acp_wait, acp_complete and acp_inquire take it.
 * Does not wait for the ring of the context, whose 64 places the calls share that have begun.
 *   args    copied. The contents of IN and INOUT buffers are read when the call begins. Buffers are
 *           the program's again when the handle has ended
 *   result  what the function returned, written before the handle ends; may be NULL. Unchanged if
 *           the call fails
 *   order   as for acp_copy
 * A bad argument gives a handle that has failed. Errors of the handle: ACP_ERR_STALE,
 * ACP_ERR_ARGUMENT, ACP_ERR_MEMORY, ACP_ERR_LIMIT, ACP_ERR_UNSUPPORTED (result lies in shared pages, in
 * a job of several nodes), ACP_ERR_ORDER (a command of its order has failed; it did not run),
 * ACP_ERR_CANCELLED, ACP_ERR_EXCEPTION (a fault or exception has ended the function: the message names
 * the signal and the function; the process lives on), ACP_ERR_PEER (the process has ended; the
 * function may have run in part). acp_reset and acp_finalize wait for the calls, as for all
 * commands. */
ACP_API acp_handle_t acp_call(acp_context_t context,
                              uint64_t function,
                              acp_args_t args,
                              uint64_t* result,
                              acp_handle_t order);

/* Cancels a call of acp_call. Returns 0 if its function will not run; the handle then fails with
 * ACP_ERR_CANCELLED in the call's turn. Returns 1 if the function has begun, or if the handle has
 * ended or is not that of a call. */
ACP_API int acp_cancel(acp_handle_t call);

/* How a call of acp_begin_call has ended. */
enum {
    ACP_CALL_RETURNED = 0,  /* *result: what the function returned */
    ACP_CALL_CANCELLED = 1, /* it did not run */
    ACP_CALL_FAULTED = 2,   /* it was ended by a fault; *result: the signal. The process lives on */
    ACP_CALL_THREW = 3      /* it was ended by an exception of C++. The process lives on */
};

/* Waits for a call and takes its result: a second wait for it fails with ACP_ERR_STALE. Returns an
 * ACP_CALL_... above, or -1: ACP_ERR_PEER (the process ended before the function had returned; it
 * may have run in part), ACP_ERR_ARGUMENT (the process has refused the arguments).
 *   result  written on success; may be NULL */
ACP_API int acp_wait_call(acp_context_t context, int64_t call, uint64_t* result);

/* acp_wait_call without waiting: ACP_NONE if the call has not ended. */
ACP_API int acp_test_call(acp_context_t context, int64_t call, uint64_t* result);

/* Cancels a call. Returns 0 if its function will not run; acp_wait_call then returns
 * ACP_CALL_CANCELLED in the call's turn. Returns 1 if it has begun or ended. */
ACP_API int acp_cancel_call(acp_context_t context, int64_t call);

#ifdef __cplusplus
}
#endif

#endif
