/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: the requests of a context. Calls of functions of the device process are
 * handed to it as soon as no request before them runs in the rank; requests that run in the rank
 * (copies, functions of the host) run in their turn, in a thread that waits for a request, asks for a
 * result, or adds one. Not for programs. */
#ifndef ACP_COMPAT_VEO_QUEUE_H
#define ACP_COMPAT_VEO_QUEUE_H

#include <acp/compat_veo_run.h>
#include <acp/compat_veo_state.h>

#ifdef __cplusplus
extern "C" {
#endif

struct acp_veo_argument {
    int kind;      /* ACP_VEO_INTEGER .. */
    int intent;    /* ACP_BUFFER_... */
    uint64_t word; /* the bits of the value */
    void* buffer;
    size_t size;
};

enum { ACP_VEO_INTEGER = 1, ACP_VEO_DOUBLE, ACP_VEO_FLOAT, ACP_VEO_BUFFER };

struct veo_args {
    acp_args_t args;
    int result; /* ACP_RESULT_... */
    int count;
    struct acp_veo_argument list[VEO_MAX_NUM_ARGS];
};

static inline struct acp_veo_request* acp_veo_request_at(struct veo_thr_ctxt* context,
                                                         uint64_t number) {
    return context->requests + (number & (context->room - 1));
}

static inline int acp_veo_set_argument(struct veo_args* args,
                                       int index,
                                       const struct acp_veo_argument* argument) {
    int result = -1;
    double number = 0;
    float single = 0;
    if (args == NULL) return acp_veo_refuse(EINVAL);
    switch (argument->kind) {
        case ACP_VEO_DOUBLE:
            memcpy(&number, &argument->word, sizeof number);
            result = acp_set_double_args(args->args, index, number);
            break;
        case ACP_VEO_FLOAT:
            memcpy(&single, &argument->word, sizeof single);
            result = acp_set_float_args(args->args, index, single);
            break;
        case ACP_VEO_BUFFER:
            result = acp_set_buffer_args(args->args, index, argument->intent, argument->buffer,
                                         argument->size);
            break;
        default:
            result = acp_set_int_args(args->args, index, ACP_VEO_SIGNED(argument->word));
    }
    if (result != 0) return acp_veo_fail();
    args->list[index] = *argument;
    if (args->count <= index) args->count = index + 1;
    return 0;
}

static inline struct veo_args* acp_veo_make_args(void) {
    struct veo_args* const args = ACP_VEO_AS(struct veo_args*, calloc(1, sizeof(struct veo_args)));
    if (args == NULL) return NULL;
    args->args = acp_create_args();
    if (args->args != ACP_ARGS_NULL) return args;
    (void)acp_veo_fail();
    free(args);
    return NULL;
}

static inline void acp_veo_drop_args(struct veo_args* args) {
    if (args == NULL) return;
    (void)acp_free_args(args->args);
    free(args);
}

/* NULL without memory. */
static inline struct veo_args* acp_veo_clone_args(const struct veo_args* args) {
    struct veo_args* const clone = acp_veo_make_args();
    if (clone == NULL) return NULL;
    clone->result = args->result;
    (void)acp_set_result_args(clone->args, args->result);
    for (int i = 0; i < args->count; ++i) {
        if (args->list[i].kind == 0 || acp_veo_set_argument(clone, i, args->list + i) == 0)
            continue;
        acp_veo_drop_args(clone);
        return NULL;
    }
    return clone;
}

/* What follows, up to acp_veo_drive, runs while the lock of the context is held. */

/* Hands calls to the device process, up to the first request that runs in the rank. */
static inline void acp_veo_begin_calls(struct veo_thr_ctxt* context) {
    while (context->begun < context->next && context->begun - context->ended < ACP_VEO_BEGUN_MAX) {
        struct acp_veo_request* const request = acp_veo_request_at(context, context->begun);
        if (request->kind != ACP_VEO_CALL) return;
        request->call = acp_begin_call(context->context, request->address,
                                       request->args != NULL ? request->args->args : ACP_ARGS_NULL);
        if (request->owns_args) acp_veo_drop_args(request->args);
        request->args = NULL;
        request->owns_args = 0;
        ++context->begun;
    }
}

static inline int acp_veo_has_room(struct veo_thr_ctxt* context) {
    const uint64_t kept = context->next - context->first;
    if (kept < context->room) return 1;
    if (context->room >= ACP_VEO_REQUESTS_MAX) {
        errno = EAGAIN;
        return 0;
    }
    const uint64_t room = context->room == 0 ? 64 : 2 * context->room;
    struct acp_veo_request* const requests =
        ACP_VEO_AS(struct acp_veo_request*, malloc(room * sizeof(struct acp_veo_request)));
    if (requests == NULL) return 0;
    for (uint64_t i = context->first; i < context->next; ++i)
        requests[i & (room - 1)] = *acp_veo_request_at(context, i);
    free(context->requests);
    context->requests = requests;
    context->room = room;
    return 1;
}

static inline void acp_veo_end_oldest(struct veo_thr_ctxt* context, int status, uint64_t result) {
    struct acp_veo_request* const request = acp_veo_request_at(context, context->ended);
    request->status = status;
    request->result = result;
    ++context->ended;
    if (context->begun < context->ended) context->begun = context->ended;
    acp_veo_begin_calls(context);
    pthread_cond_broadcast(&context->changed);
}

static inline int acp_veo_is_driver(const struct veo_thr_ctxt* context) {
    return context->is_driven && pthread_equal(context->driver, pthread_self());
}

/* Makes the oldest request end, as the driver. May release the lock in between. Returns whether it
 * has ended; may_wait: it has. */
static inline int acp_veo_drive(struct veo_thr_ctxt* context, int may_wait) {
    int status = VEO_COMMAND_ERROR;
    uint64_t result = 0;
    const struct acp_veo_request request = *acp_veo_request_at(context, context->ended);
    context->is_driven = 1;
    context->driver = pthread_self();
    if (request.kind != ACP_VEO_CALL) {
        pthread_mutex_unlock(&context->lock);
        status = acp_veo_run(context, &request, &result);
        pthread_mutex_lock(&context->lock);
    } else if (request.call > 0 && may_wait) {
        pthread_mutex_unlock(&context->lock);
        status = acp_veo_status_of(acp_wait_call(context->context, request.call, &result));
        pthread_mutex_lock(&context->lock);
    } else if (request.call > 0) {
        status = acp_veo_status_of(acp_test_call(context->context, request.call, &result));
    }
    context->is_driven = 0;
    if (status == VEO_COMMAND_UNFINISHED) {
        pthread_cond_broadcast(&context->changed);
        return 0;
    }
    acp_veo_end_oldest(context, status, result);
    return 1;
}

/* Starts the thread of an entry of process->contexts, which is empty or closed, while process->lock
 * is held. 0, or -1. */
static inline int acp_veo_open(struct veo_proc_handle* process, int index) {
    struct veo_thr_ctxt* context = process->contexts[index];
    if (context == NULL) {
        context = ACP_VEO_AS(struct veo_thr_ctxt*, calloc(1, sizeof *context));
        if (context == NULL) return -1;
        pthread_mutex_init(&context->lock, NULL);
        pthread_cond_init(&context->changed, NULL);
        context->process = process;
        context->first = context->ended = context->begun = context->next = 1;
        process->contexts[index] = context;
    }
    context->context = acp_open_context(process->process);
    return context->context != ACP_CONTEXT_NULL ? 0 : acp_veo_fail();
}

/* Whether a context has a thread in the process. */
static inline int acp_veo_is_thread(const struct veo_thr_ctxt* context) {
    return context != NULL && context->context != ACP_CONTEXT_NULL;
}

/* The main context of a process, whose thread starts with its first use; NULL after a failure. */
static inline struct veo_thr_ctxt* acp_veo_main_context(struct veo_proc_handle* process) {
    pthread_mutex_lock(&process->lock);
    const int result = acp_veo_is_thread(process->contexts[0]) ? 0 : acp_veo_open(process, 0);
    pthread_mutex_unlock(&process->lock);
    return result == 0 ? process->contexts[0] : NULL;
}

/* Adds a request; returns its number, or VEO_REQUEST_ID_INVALID. */
static inline uint64_t acp_veo_add(struct veo_thr_ctxt* context,
                                   const struct acp_veo_request* request) {
    uint64_t number = VEO_REQUEST_ID_INVALID;
    if (context == NULL) {
        errno = EINVAL;
        return number;
    }
    pthread_mutex_lock(&context->lock);
    while (context->blocks != 0 && !pthread_equal(context->blocker, pthread_self()))
        pthread_cond_wait(&context->changed, &context->lock);
    if (!context->is_open && !request->is_synchronous) {
        errno = EINVAL;
    } else if (acp_veo_has_room(context)) {
        number = context->next++;
        struct acp_veo_request* const added = acp_veo_request_at(context, number);
        *added = *request;
        acp_veo_begin_calls(context);
        if (number >= context->begun && request->args != NULL) {
            added->args = acp_veo_clone_args(request->args);
            added->owns_args = 1;
            if (added->args == NULL) {
                --context->next;
                number = VEO_REQUEST_ID_INVALID;
            }
        }
    }
    pthread_mutex_unlock(&context->lock);
    return number;
}

/* Waits until all requests before a number have ended, while the lock is held. 0, or -1: the thread
 * runs a function of the host in this context, which cannot wait for the requests behind it. */
static inline int acp_veo_await_before(struct veo_thr_ctxt* context, uint64_t number) {
    while (context->ended < number) {
        if (acp_veo_is_driver(context)) return acp_veo_refuse(EDEADLK);
        if (context->is_driven) {
            pthread_cond_wait(&context->changed, &context->lock);
        } else {
            (void)acp_veo_drive(context, 1);
        }
    }
    return 0;
}

/* Takes the result of a request, while the lock is held. */
static inline int acp_veo_take(struct veo_thr_ctxt* context, uint64_t number, uint64_t* result) {
    struct acp_veo_request* const request = acp_veo_request_at(context, number);
    const int status = request->status;
    if (result != NULL) *result = request->result;
    request->is_taken = 1;
    while (context->first < context->ended && acp_veo_request_at(context, context->first)->is_taken)
        ++context->first;
    return status;
}

/* Whether a request was made and its result not taken, while the lock is held. */
static inline int acp_veo_is_known(struct veo_thr_ctxt* context, uint64_t number) {
    return number >= context->first && number < context->next &&
           !(number < context->ended && acp_veo_request_at(context, number)->is_taken);
}

/* Waits for a request and takes its result; a veo_command_state. */
static inline int acp_veo_wait(struct veo_thr_ctxt* context, uint64_t number, uint64_t* result) {
    int status = VEO_COMMAND_ERROR;
    pthread_mutex_lock(&context->lock);
    if (acp_veo_is_known(context, number) && acp_veo_await_before(context, number + 1) == 0 &&
        acp_veo_is_known(context, number))
        status = acp_veo_take(context, number, result);
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* acp_veo_wait without waiting. */
static inline int acp_veo_peek(struct veo_thr_ctxt* context, uint64_t number, uint64_t* result) {
    int status = VEO_COMMAND_ERROR;
    pthread_mutex_lock(&context->lock);
    while (acp_veo_is_known(context, number) && context->ended <= number && !context->is_driven) {
        if (!acp_veo_drive(context, 0)) break;
    }
    if (acp_veo_is_known(context, number)) {
        status = context->ended > number ? acp_veo_take(context, number, result)
                                         : VEO_COMMAND_UNFINISHED;
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* Waits for all requests that were made. */
static inline int acp_veo_drain(struct veo_thr_ctxt* context) {
    pthread_mutex_lock(&context->lock);
    const int result = acp_veo_await_before(context, context->next);
    pthread_mutex_unlock(&context->lock);
    return result;
}

/* Makes a request and waits for it: 0, or -1. */
static inline int acp_veo_do(struct veo_thr_ctxt* context,
                             const struct acp_veo_request* request,
                             uint64_t* result) {
    if (context == NULL) return -1;
    const uint64_t number = acp_veo_add(context, request);
    if (number == VEO_REQUEST_ID_INVALID) return -1;
    return acp_veo_wait(context, number, result) == VEO_COMMAND_OK ? 0 : -1;
}

#ifdef __cplusplus
}
#endif

#endif
