/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: arguments, and calls of functions of a VE process. */
#ifndef ACP_COMPAT_VEO_CALLS_H
#define ACP_COMPAT_VEO_CALLS_H

#include <acp/compat_veo_memory.h>
#include <acp/compat_veo_process.h>
#include <acp/compat_veo_queue.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline struct veo_args* veo_args_alloc(void) {
    return acp_veo_join() == 0 ? acp_veo_make_args() : NULL;
}

static inline void veo_args_free(struct veo_args* args) {
    acp_veo_drop_args(args);
}

static inline void veo_args_clear(struct veo_args* args) {
    if (args == NULL) return;
    (void)acp_clear_args(args->args);
    memset(args->list, 0, sizeof args->list);
    args->count = 0;
    args->result = ACP_RESULT_INT;
}

static inline int acp_veo_set_integer(struct veo_args* args, int index, int64_t value) {
    const struct acp_veo_argument argument = {ACP_VEO_INTEGER, 0, ACP_VEO_UNSIGNED(value), NULL, 0};
    return acp_veo_set_argument(args, index, &argument);
}

static inline int veo_args_set_i64(struct veo_args* args, int index, int64_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_u64(struct veo_args* args, int index, uint64_t value) {
    return acp_veo_set_integer(args, index, ACP_VEO_SIGNED(value));
}

static inline int veo_args_set_i32(struct veo_args* args, int index, int32_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_u32(struct veo_args* args, int index, uint32_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_i16(struct veo_args* args, int index, int16_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_u16(struct veo_args* args, int index, uint16_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_i8(struct veo_args* args, int index, int8_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_u8(struct veo_args* args, int index, uint8_t value) {
    return acp_veo_set_integer(args, index, value);
}

static inline int veo_args_set_double(struct veo_args* args, int index, double value) {
    struct acp_veo_argument argument = {ACP_VEO_DOUBLE, 0, 0, NULL, 0};
    memcpy(&argument.word, &value, sizeof value);
    return acp_veo_set_argument(args, index, &argument);
}

static inline int veo_args_set_float(struct veo_args* args, int index, float value) {
    struct acp_veo_argument argument = {ACP_VEO_FLOAT, 0, 0, NULL, 0};
    memcpy(&argument.word, &value, sizeof value);
    return acp_veo_set_argument(args, index, &argument);
}

static inline int veo_args_set_stack(
    struct veo_args* args, enum veo_args_intent intent, int index, char* buffer, size_t size) {
    struct acp_veo_argument argument = {ACP_VEO_BUFFER, ACP_BUFFER_IN, 0, buffer, size};
    switch (intent) {
        case VEO_INTENT_IN:
            break;
        case VEO_INTENT_INOUT:
            argument.intent = ACP_BUFFER_INOUT;
            break;
        case VEO_INTENT_OUT:
            argument.intent = ACP_BUFFER_OUT;
            break;
        default:
            return acp_veo_refuse(EINVAL);
    }
    return acp_veo_set_argument(args, index, &argument);
}

/* The function gets the pointer, which is an address in the process. */
static inline int veo_args_set_hmem(struct veo_args* args, int index, void* pointer) {
    if (!veo_is_ve_addr(pointer)) return acp_veo_refuse(EINVAL);
    return veo_args_set_u64(args, index, ACP_VEO_NUMBER(pointer));
}

/* An addition to VEO: sets the type that functions return which are called with these arguments.
 *   kind  ACP_RESULT_INT (the default), ACP_RESULT_DOUBLE or ACP_RESULT_FLOAT
 * The registers of a Vector Engine do not distinguish them; those of other processors do. */
static inline int acp_veo_args_set_result(struct veo_args* args, int kind) {
    if (args == NULL) return acp_veo_refuse(EINVAL);
    if (acp_set_result_args(args->args, kind) != 0) return acp_veo_fail();
    args->result = kind;
    return 0;
}

static inline uint64_t veo_call_async(struct veo_thr_ctxt* context,
                                      uint64_t function,
                                      struct veo_args* args) {
    struct acp_veo_request request = acp_veo_memory_request(ACP_VEO_CALL, function, NULL, 0);
    request.args = args;
    return acp_veo_add(function != 0 ? context : NULL, &request);
}

static inline uint64_t veo_call_async_by_name(struct veo_thr_ctxt* context,
                                              uint64_t library,
                                              const char* name,
                                              struct veo_args* args) {
    const uint64_t function = context != NULL ? veo_get_sym(context->process, library, name) : 0;
    return function != 0 ? veo_call_async(context, function, args) : VEO_REQUEST_ID_INVALID;
}

/* Calls a function of the rank, in its turn among the requests of the context. */
static inline uint64_t veo_call_async_vh(struct veo_thr_ctxt* context,
                                         uint64_t (*function)(void*),
                                         void* argument) {
    struct acp_veo_request request = acp_veo_memory_request(ACP_VEO_HOST_CALL, 0, argument, 0);
    request.host = function;
    return acp_veo_add(function != NULL ? context : NULL, &request);
}

/* A veo_command_state. VEO_COMMAND_EXCEPTION: the function was ended by a fault, and *result is the
 * signal, or by an exception of C++; the process lives on. */
static inline int veo_call_wait_result(struct veo_thr_ctxt* context,
                                       uint64_t request,
                                       uint64_t* result) {
    if (context != NULL) return acp_veo_wait(context, request, result);
    errno = EINVAL;
    return VEO_COMMAND_ERROR;
}

/* veo_call_wait_result without waiting: VEO_COMMAND_UNFINISHED. */
static inline int veo_call_peek_result(struct veo_thr_ctxt* context,
                                       uint64_t request,
                                       uint64_t* result) {
    if (context != NULL) return acp_veo_peek(context, request, result);
    errno = EINVAL;
    return VEO_COMMAND_ERROR;
}

/* Calls a function behind all requests of the main context: 0, or -1. */
static inline int veo_call_sync(struct veo_proc_handle* process,
                                uint64_t function,
                                struct veo_args* args,
                                uint64_t* result) {
    struct acp_veo_request request = acp_veo_memory_request(ACP_VEO_CALL, function, NULL, 0);
    if (process == NULL || function == 0) return acp_veo_refuse(EINVAL);
    request.args = args;
    request.is_synchronous = 1;
    return acp_veo_do(acp_veo_main_context(process), &request, result);
}

#ifdef __cplusplus
}
#endif

#endif
