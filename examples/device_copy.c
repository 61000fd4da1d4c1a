/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device copy: the program of figure 2 of paper 004. Each rank starts a process on a device, opens
 * a context in it, allocates memory that the process reaches, copies bytes to that memory and back,
 * and ends the process. An eighth step, which the figure lacks, calls a function of the C library in
 * the process, on the memory itself.
 *
 *   acprun -n 2 ./device_copy [program of the device process]
 *
 * prints
 *
 *   2 ranks: 128 bytes came back from each device, and strnlen counts 127 there
 *
 * Any number of ranks. The exit codes are the figure's: 1 when there is no process, 2 no context, 5
 * no memory or a copy that failed; and 6 when the function has returned another value.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/offload.h>

enum { bytes = 128 };

static void fail(const char* step, int code) {
    fprintf(stderr, "%s: %s\n", step, acp_error_message());
    exit(code);
}

/* strnlen(memory, bytes) in the process. */
static uint64_t length_there(acp_process_t process, acp_context_t context, acp_ga_t memory) {
    const int library = acp_load_library(process, "libc.so.6");
    const uint64_t function = acp_find_symbol(process, library, "strnlen");
    acp_args_t args = acp_create_args();
    acp_set_address_args(args, 0, memory); /* a pointer there: nothing is copied */
    acp_set_int_args(args, 1, bytes);
    uint64_t length = 0;
    const int64_t call = acp_begin_call(context, function, args);
    if (acp_wait_call(context, call, &length) != ACP_CALL_RETURNED) fail("acp_wait_call", 6);
    acp_free_args(args);
    return length;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) fail("acp_init", 1);

    /* 1. A process on the device. */
    acp_process_t process = acp_create_process(0, argc > 1 ? argv[1] : NULL);
    if (process == ACP_PROCESS_NULL) fail("acp_create_process", 1);

    /* 2. A context of it. */
    acp_context_t context = acp_open_context(process);
    if (context == ACP_CONTEXT_NULL) fail("acp_open_context", 2);

    /* 3. Memory that the process reaches: the heap of this rank. */
    const acp_ga_t memory = acp_malloc(bytes, acp_rank());
    if (memory == ACP_GA_NULL) fail("acp_malloc", 5);
    char* sent = malloc(bytes);
    char* back = malloc(bytes);
    if (sent == NULL || back == NULL) return 5;
    memset(sent, 'x', bytes - 1);
    sent[bytes - 1] = 0;

    /* 4. and 5. Copies to that memory and back. */
    const acp_handle_t there = acp_put(memory, sent, bytes, ACP_HANDLE_NULL);
    if (acp_wait(acp_get(back, memory, bytes, there), -1) != ACP_OK) fail("acp_get", 5);
    if (memcmp(sent, back, bytes) != 0) return 5;

    if (length_there(process, context, memory) != bytes - 1) return 6;

    /* 6. and 7. The ends of the context and of the process. */
    acp_close_context(context);
    acp_destroy_process(process);

    free(sent);
    free(back);
    acp_sync(); /* all ranks have come so far */
    if (acp_rank() == 0) {
        printf("%d ranks: %d bytes came back from each device, and strnlen counts %d there\n",
               acp_procs(), bytes, bytes - 1);
    }
    return acp_finalize() == 0 ? 0 : 1;
}
