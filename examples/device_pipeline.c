/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device pipeline: texts pass through three device processes. The first one shuffles the letters of
 * a text, the second one scrambles them, the third one counts them, by functions of the C library.
 * Copies by acp_copy move each text from the memory of one stage to that of the next. All
 * calls and copies are issued at once, ordered by their handles, and the rank waits once, at the
 * end: no host stands between the stages, and the stages work on several blocks at the same time.
 *
 *   acprun -n 2 ./device_pipeline
 *
 * prints
 *
 *   2 ranks: 32 blocks each passed 3 devices without a wait in between
 *
 * Any number of ranks; every rank has devices of its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/offload.h>

enum { stages = 3, blocks = 32, slots = 4, block_bytes = 4096 };

static void fail(const char* step) {
    fprintf(stderr, "%s: %s\n", step, acp_error_message());
    exit(1);
}

typedef struct {
    acp_process_t process;
    acp_context_t context;
    acp_ga_t memory; /* of `slots` blocks, in the heap of this rank */
    uint64_t function;
} stage_t;

static stage_t start_stage(const char* function) {
    stage_t stage;
    stage.process = acp_create_process(0, NULL);
    if (stage.process == ACP_PROCESS_NULL) fail("acp_create_process");
    const int library = acp_load_library(stage.process, "libc.so.6");
    stage.function = acp_find_symbol(stage.process, library, function);
    if (stage.function == UINT64_MAX) fail("acp_find_symbol");
    stage.context = acp_open_context(stage.process);
    if (stage.context == ACP_CONTEXT_NULL) fail("acp_open_context");
    stage.memory = acp_malloc((size_t)slots * block_bytes, acp_rank());
    if (stage.memory == ACP_GA_NULL) fail("acp_malloc");
    return stage;
}

static acp_ga_t slot_of(const stage_t* stage, int block) {
    return stage->memory + (acp_ga_t)(block % slots) * block_bytes;
}

/* A call of a stage's function on its slot of a block. */
static acp_handle_t call_stage(
    const stage_t* stage, acp_args_t args, int block, uint64_t* result, acp_handle_t order) {
    acp_set_address_args(args, 0, slot_of(stage, block));
    return acp_call(stage->context, stage->function, args, result, order);
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) fail("acp_init");
    stage_t stage[stages] = {start_stage("strfry"), start_stage("memfrob"), start_stage("strlen")};
    acp_args_t args = acp_create_args();
    char* input = malloc((size_t)blocks * block_bytes);
    if (input == NULL) return 1;
    uint64_t lengths[blocks];
    acp_handle_t last[blocks]; /* of the block's commands */
    for (int block = 0; block < blocks; ++block) {
        char* text = input + (size_t)block * block_bytes;
        memset(text, 'a', (size_t)(100 + block));
        text[100 + block] = 0;
        /* The slot is free when the block that had it before has left the pipeline. */
        acp_handle_t order = block < slots ? ACP_HANDLE_NULL : last[block - slots];
        order = acp_put(slot_of(&stage[0], block), text, block_bytes, order);
        acp_clear_args(args);
        order = call_stage(&stage[0], args, block, NULL, order);
        order = acp_copy(slot_of(&stage[1], block), slot_of(&stage[0], block), block_bytes, order);
        acp_set_int_args(args, 1, 100 + block);
        order = call_stage(&stage[1], args, block, NULL, order);
        order = acp_copy(slot_of(&stage[2], block), slot_of(&stage[1], block), block_bytes, order);
        acp_clear_args(args);
        last[block] = call_stage(&stage[2], args, block, &lengths[block], order);
    }
    acp_complete(last[blocks - 1]); /* stands for all commands before it */
    for (int block = 0; block < blocks; ++block) {
        if (lengths[block] == (uint64_t)(100 + block)) continue;
        fprintf(stderr, "block %d has length %d\n", block, (int)lengths[block]);
        return 1;
    }
    for (int i = 0; i < stages; ++i) {
        acp_free(stage[i].memory);
        acp_destroy_process(stage[i].process);
    }
    acp_free_args(args);
    free(input);
    acp_sync(); /* all ranks have come so far */
    if (acp_rank() == 0) {
        printf("%d ranks: %d blocks each passed %d devices without a wait in between\n",
               acp_procs(), blocks, stages);
    }
    return acp_finalize() == 0 ? 0 : 1;
}
