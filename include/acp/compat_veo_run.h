/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: the requests that run in the rank: copies, allocations, host functions. Not
 * for programs. */
#ifndef ACP_COMPAT_VEO_RUN_H
#define ACP_COMPAT_VEO_RUN_H

#include <acp/compat_veo_state.h>
#include <acp/heap.h>
#include <acp/init.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The status of a call, from what acp_wait_call or acp_test_call has returned. */
static inline int acp_veo_status_of(int end) {
    switch (end) {
        case ACP_CALL_RETURNED:
            return VEO_COMMAND_OK;
        case ACP_CALL_FAULTED:
        case ACP_CALL_THREW:
            return VEO_COMMAND_EXCEPTION;
        case ACP_NONE:
            return VEO_COMMAND_UNFINISHED;
        default:
            return VEO_COMMAND_ERROR;
    }
}

/* Copies between the rank and memory of a process that is no block, by calls of memcpy in the
 * process, while the context has no other call. A veo_command_state. */
static inline int acp_veo_copy_in_process(struct veo_thr_ctxt* context,
                                          const struct acp_veo_request* request) {
    const int is_write = request->kind == ACP_VEO_WRITE;
    int status = VEO_COMMAND_OK;
    const acp_args_t args = acp_create_args();
    for (uint64_t done = 0; done < request->size && status == VEO_COMMAND_OK;) {
        const uint64_t left = request->size - done;
        const size_t bytes = left < ACP_VEO_PIECE_BYTES ? left : ACP_VEO_PIECE_BYTES;
        char* const memory = ACP_VEO_AS(char*, request->memory) + done;
        int64_t call = -1;
        if (acp_set_int_args(args, is_write ? 0 : 1, ACP_VEO_SIGNED(request->address + done)) ==
                0 &&
            acp_set_buffer_args(args, is_write ? 1 : 0, is_write ? ACP_BUFFER_IN : ACP_BUFFER_OUT,
                                memory, bytes) == 0 &&
            acp_set_int_args(args, 2, ACP_VEO_SIGNED(bytes)) == 0)
            call = acp_begin_call(context->context, context->process->copy_function, args);
        status = call < 0 ? VEO_COMMAND_ERROR
                          : acp_veo_status_of(acp_wait_call(context->context, call, NULL));
        done += bytes;
    }
    if (args == ACP_ARGS_NULL) status = VEO_COMMAND_ERROR;
    (void)acp_free_args(args);
    return status == VEO_COMMAND_OK ? VEO_COMMAND_OK : VEO_COMMAND_ERROR;
}

static inline int acp_veo_copy(struct veo_thr_ctxt* context,
                               const struct acp_veo_request* request) {
    if (request->size == 0) return VEO_COMMAND_OK;
    if (!acp_veo_find_block(request->address, request->size, NULL))
        return acp_veo_copy_in_process(context, request);
    if (acp_query_process(context->process->process) <= 0) {
        errno = ESRCH;
        return VEO_COMMAND_ERROR;
    }
    void* const device = ACP_VEO_POINTER(request->address);
    if (request->kind == ACP_VEO_WRITE) {
        memcpy(device, request->memory, request->size);
    } else {
        memcpy(request->memory, device, request->size);
    }
    return VEO_COMMAND_OK;
}

/* Allocates device memory: 0, or -1. */
static inline int acp_veo_alloc(struct veo_proc_handle* process, uint64_t size, uint64_t* address) {
    struct acp_veo_block block = {0, size, ACP_GA_NULL, process};
    if (acp_query_process(process->process) <= 0) return acp_veo_refuse(ESRCH);
    block.memory = acp_malloc(size, acp_rank());
    if (block.memory == ACP_GA_NULL) return acp_veo_fail();
    block.address = ACP_VEO_NUMBER(acp_query_device_pointer(process->process, block.memory));
    if (block.address != 0 && acp_veo_add_block(&block) == 0) {
        *address = block.address;
        return 0;
    }
    if (block.address == 0) (void)acp_veo_fail();
    (void)acp_free(block.memory);
    return -1;
}

static inline int acp_veo_free(struct veo_proc_handle* process, uint64_t address) {
    struct acp_veo_block block;
    /* ACP_NONE, of a process that has ended, is no failure; -1 is: acp_reset has ended its blocks too. */
    if (acp_query_process(process->process) == -1) return acp_veo_fail();
    if (address == 0 || !acp_veo_remove_block(process, address, &block))
        return acp_veo_refuse(EINVAL);
    return acp_free(block.memory) == 0 ? 0 : acp_veo_fail();
}

/* Runs a request in the rank, in its turn; a veo_command_state. */
static inline int acp_veo_run(struct veo_thr_ctxt* context,
                              const struct acp_veo_request* request,
                              uint64_t* result) {
    switch (request->kind) {
        case ACP_VEO_HOST_CALL:
            *result = request->host(request->memory);
            return VEO_COMMAND_OK;
        case ACP_VEO_COPY:
            memmove(ACP_VEO_POINTER(request->address), request->memory, request->size);
            return VEO_COMMAND_OK;
        case ACP_VEO_ALLOC:
            return acp_veo_alloc(context->process, request->size, result) == 0 ? VEO_COMMAND_OK
                                                                               : VEO_COMMAND_ERROR;
        case ACP_VEO_FREE:
            return acp_veo_free(context->process, request->address) == 0 ? VEO_COMMAND_OK
                                                                         : VEO_COMMAND_ERROR;
        default:
            return acp_veo_copy(context, request);
    }
}

#ifdef __cplusplus
}
#endif

#endif
