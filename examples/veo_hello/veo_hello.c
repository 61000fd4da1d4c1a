/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of functions of a library in a device process, under the names of NEC's Vector Engine
 * Offloading (VEO). The program sums a field that it has written to memory of the process, and calls
 * a function of the host between two calls of the process.
 *
 *   ./veo_hello [library] [function]
 *
 * prints
 *
 *   the device process summed 1000 numbers to 499500, and doubled them to 999000
 *
 * Without a launcher, or under acprun. Exits with 1 when there is no process, 2 no context, 3 no
 * library, 4 no function in it, 5 no memory, or a copy or call that failed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp/compat_veo.h>

enum { numbers_count = 1000 };

static void fail(const char* step, int code) {
    perror(step);
    fprintf(stderr, "%s\n", acp_error_message());
    exit(code);
}

static uint64_t sum_of_host = 0;

/* Runs in the host, after the requests before it. */
static uint64_t note_sum(void* argument) {
    sum_of_host = *(uint64_t*)argument;
    return 0;
}

static uint64_t result_of(struct veo_thr_ctxt* context, uint64_t request) {
    uint64_t result = 0;
    if (request == VEO_REQUEST_ID_INVALID) fail("veo_call_async", 5);
    if (veo_call_wait_result(context, request, &result) != VEO_COMMAND_OK)
        fail("veo_call_wait_result", 5);
    return result;
}

int main(int argc, char** argv) {
    const char* const library = argc > 1 ? argv[1] : VEO_HELLO_LIBRARY;
    const char* const function = argc > 2 ? argv[2] : "sum_numbers";
    struct veo_proc_handle* const process = veo_proc_create(0);
    if (process == NULL) fail("veo_proc_create", 1);
    struct veo_thr_ctxt* const context = veo_context_open(process);
    if (context == NULL) fail("veo_context_open", 2);
    const uint64_t loaded = veo_load_library(process, library);
    if (loaded == 0) fail("veo_load_library", 3);
    const uint64_t sum_numbers = veo_get_sym(process, loaded, function);
    if (sum_numbers == 0) fail("veo_get_sym", 4);

    int64_t numbers[numbers_count];
    for (int i = 0; i < numbers_count; ++i) numbers[i] = i;
    uint64_t memory = 0;
    if (veo_alloc_mem(process, &memory, sizeof numbers) != 0) fail("veo_alloc_mem", 5);

    /* Requests of a context run one after the other. */
    struct veo_args* const args = veo_args_alloc();
    veo_args_set_u64(args, 0, memory);
    veo_args_set_i32(args, 1, numbers_count);
    uint64_t read_back = 0;
    (void)veo_async_write_mem(context, memory, numbers, sizeof numbers);
    const uint64_t summed = veo_call_async(context, sum_numbers, args);
    const uint64_t doubled = veo_call_async_by_name(context, loaded, "double_numbers", args);
    (void)veo_async_read_mem(context, &read_back, memory + 8, 8); /* 1, doubled */
    (void)veo_call_async_vh(context, note_sum, &read_back);
    const uint64_t summed_again = veo_call_async(context, sum_numbers, args);
    const uint64_t sum = result_of(context, summed);
    (void)result_of(context, doubled);
    const uint64_t sum_again = result_of(context, summed_again);
    veo_args_free(args);
    if (sum_of_host != 2) fail("veo_call_async_vh", 5);

    if (veo_free_mem(process, memory) != 0) fail("veo_free_mem", 5);
    veo_context_close(context);
    veo_proc_destroy(process);
    printf("the device process summed %d numbers to %d, and doubled them to %d\n", numbers_count,
           (int)sum, (int)sum_again);
    return 0;
}
