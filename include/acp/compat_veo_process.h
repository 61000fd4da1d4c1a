/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: processes, libraries and contexts. */
#ifndef ACP_COMPAT_VEO_PROCESS_H
#define ACP_COMPAT_VEO_PROCESS_H

#include <acp/compat_veo_memory.h>
#include <acp/compat_veo_queue.h>
#include <acp/init.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void acp_veo_leave(void) {
    if (acp_initialized()) (void)acp_finalize();
}

/* Joins the job, unless the program has done so: 0, or -1. */
static inline int acp_veo_join(void) {
    int result = 0;
    pthread_mutex_lock(&acp_veo_state.lock);
    if (!acp_initialized()) {
        result = acp_init(NULL, NULL) == 0 ? 0 : acp_veo_fail();
        if (result == 0 && !acp_veo_state.will_leave)
            acp_veo_state.will_leave = atexit(acp_veo_leave) == 0;
    }
    pthread_mutex_unlock(&acp_veo_state.lock);
    return result;
}

static inline void acp_veo_free_context(struct veo_thr_ctxt* context) {
    if (context == NULL) return;
    for (uint64_t i = context->ended; i < context->next; ++i) {
        if (acp_veo_request_at(context, i)->owns_args)
            acp_veo_drop_args(acp_veo_request_at(context, i)->args);
    }
    pthread_mutex_destroy(&context->lock);
    pthread_cond_destroy(&context->changed);
    free(context->requests);
    free(context);
}

/* Ends the process of a handle and frees the handle; 0, or -1. */
static inline int acp_veo_end_process(struct veo_proc_handle* process) {
    struct acp_veo_block block;
    const int code = acp_destroy_process(process->process);
    const int is_ended = code >= 0 || code == ACP_NONE;
    const int result = is_ended ? 0 : acp_veo_fail();
    /* After acp_reset the addresses of blocks are those of other memory. */
    while (acp_veo_remove_block(process, 0, &block)) {
        if (is_ended) (void)acp_free(block.memory);
    }
    for (int i = 0; i < ACP_VEO_CONTEXTS_MAX; ++i) acp_veo_free_context(process->contexts[i]);
    pthread_mutex_destroy(&process->lock);
    pthread_mutex_lock(&acp_veo_state.lock);
    if (process->identifier >= 0) acp_veo_state.processes[process->identifier] = NULL;
    pthread_mutex_unlock(&acp_veo_state.lock);
    free(process);
    return result;
}

/* Gives a process the lowest free identifier: 0, or -1. */
static inline int acp_veo_identify(struct veo_proc_handle* process) {
    process->identifier = -1;
    pthread_mutex_lock(&acp_veo_state.lock);
    for (int i = ACP_VEO_PROCESSES_MAX; i-- > 0;) {
        if (acp_veo_state.processes[i] == NULL) process->identifier = i;
    }
    if (process->identifier >= 0) acp_veo_state.processes[process->identifier] = process;
    pthread_mutex_unlock(&acp_veo_state.lock);
    return process->identifier >= 0 ? 0 : acp_veo_refuse(EAGAIN);
}

/* Finds what the functions here call in the process: 0, or -1. */
static inline int acp_veo_prepare(struct veo_proc_handle* process) {
    process->pid = acp_query_process(process->process);
    process->copy_function = acp_find_symbol(process->process, 0, "memcpy");
    if (process->pid <= 0 || process->copy_function == UINT64_MAX) return acp_veo_fail();
    return acp_veo_identify(process);
}

/*   node     0 or more: each is a process of the own machine; -1: that of VE_NODE_NUMBER, or 0
 *   program  runs acp-worker with its arguments */
static inline struct veo_proc_handle* veo_proc_create_static(int node, char* program) {
    const char* const chosen = getenv("VE_NODE_NUMBER");
    if (node == -1) node = chosen != NULL ? atoi(chosen) : 0;
    if (node < 0) {
        errno = ENODEV;
        return NULL;
    }
    if (acp_veo_join() != 0) return NULL;
    struct veo_proc_handle* const process =
        ACP_VEO_AS(struct veo_proc_handle*, calloc(1, sizeof *process));
    if (process == NULL) return NULL;
    pthread_mutex_init(&process->lock, NULL);
    process->node = node;
    process->identifier = -1;
    process->process = acp_create_process(0, program);
    if (process->process == ACP_PROCESS_NULL) {
        (void)acp_veo_fail();
        pthread_mutex_destroy(&process->lock);
        free(process);
        return NULL;
    }
    if (acp_veo_prepare(process) == 0) return process;
    const int error = errno;
    (void)acp_veo_end_process(process);
    errno = error;
    return NULL;
}

/* The variable VEORUN_BIN names a program to run in place of acp-worker. */
static inline struct veo_proc_handle* veo_proc_create(int node) {
    return veo_proc_create_static(node, getenv("VEORUN_BIN"));
}

/* Waits for all requests, ends the process, and frees its memory and its contexts. */
static inline int veo_proc_destroy(struct veo_proc_handle* process) {
    if (process == NULL) return acp_veo_refuse(EINVAL);
    for (int i = 0; i < ACP_VEO_CONTEXTS_MAX; ++i) {
        if (process->contexts[i] != NULL && acp_veo_drain(process->contexts[i]) != 0) return -1;
    }
    return acp_veo_end_process(process);
}

static inline int veo_proc_identifier(struct veo_proc_handle* process) {
    return process != NULL ? process->identifier : acp_veo_refuse(EINVAL);
}

/* Returns the handle of the library, or 0. */
static inline uint64_t veo_load_library(struct veo_proc_handle* process, const char* path) {
    const int number = process != NULL ? acp_load_library(process->process, path) : -1;
    if (number > 0) return ACP_VEO_UNSIGNED(number);
    if (process == NULL) {
        errno = EINVAL;
    } else {
        (void)acp_veo_fail();
    }
    return 0;
}

static inline int veo_unload_library(struct veo_proc_handle* process, const uint64_t library) {
    if (process == NULL || library == 0 || library > INT32_MAX) return acp_veo_refuse(EINVAL);
    return acp_unload_library(process->process, ACP_VEO_INT(library)) == 0 ? 0 : acp_veo_fail();
}

/* Returns the address of a function or variable, or 0.
 *   library  0: the program of the process */
static inline uint64_t veo_get_sym(struct veo_proc_handle* process,
                                   uint64_t library,
                                   const char* name) {
    if (process == NULL || library > INT32_MAX) {
        errno = EINVAL;
        return 0;
    }
    const uint64_t address = acp_find_symbol(process->process, ACP_VEO_INT(library), name);
    if (address != UINT64_MAX) return address;
    (void)acp_veo_fail();
    return 0;
}

/* Attributes of a context. */
struct veo_thr_ctxt_attr {
    size_t stack_size;
};

static inline struct veo_thr_ctxt_attr* veo_alloc_thr_ctxt_attr(void) {
    struct veo_thr_ctxt_attr* const attributes =
        ACP_VEO_AS(struct veo_thr_ctxt_attr*, calloc(1, sizeof *attributes));
    if (attributes != NULL) attributes->stack_size = ACP_VEO_STACK_BYTES;
    return attributes;
}

static inline int veo_free_thr_ctxt_attr(struct veo_thr_ctxt_attr* attributes) {
    if (attributes == NULL) return acp_veo_refuse(EINVAL);
    free(attributes);
    return 0;
}

/*   size  up to 8 MiB, which every context has */
static inline int veo_set_thr_ctxt_stacksize(struct veo_thr_ctxt_attr* attributes, size_t size) {
    if (attributes == NULL || size == 0 || size > ACP_VEO_STACK_BYTES)
        return acp_veo_refuse(EINVAL);
    attributes->stack_size = size;
    return 0;
}

static inline int veo_get_thr_ctxt_stacksize(struct veo_thr_ctxt_attr* attributes, size_t* size) {
    if (attributes == NULL || size == NULL) return acp_veo_refuse(EINVAL);
    *size = attributes->stack_size;
    return 0;
}

/* The first context that is opened is the main context, in which veo_read_mem, veo_call_sync and the
 * like run too. */
static inline struct veo_thr_ctxt* veo_context_open(struct veo_proc_handle* process) {
    struct veo_thr_ctxt* opened = NULL;
    int index = 0;
    if (process == NULL) {
        errno = EINVAL;
        return NULL;
    }
    pthread_mutex_lock(&process->lock);
    while (index < ACP_VEO_CONTEXTS_MAX && process->contexts[index] != NULL &&
           process->contexts[index]->is_open)
        ++index;
    if (index == ACP_VEO_CONTEXTS_MAX) {
        errno = EAGAIN;
    } else if (acp_query_process(process->process) <= 0) {
        errno = ESRCH;
    } else if ((index == 0 && acp_veo_is_thread(process->contexts[0])) ||
               acp_veo_open(process, index) == 0) {
        opened = process->contexts[index];
        opened->is_open = 1;
    }
    pthread_mutex_unlock(&process->lock);
    return opened;
}

static inline struct veo_thr_ctxt* veo_context_open_with_attr(
    struct veo_proc_handle* process, struct veo_thr_ctxt_attr* attributes) {
    if (attributes != NULL) return veo_context_open(process);
    errno = EINVAL;
    return NULL;
}

/* Waits for all requests of a context, and closes it. Results that were not taken are lost. */
static inline int veo_context_close(struct veo_thr_ctxt* context) {
    int result = 0;
    if (context == NULL || !context->is_open) return acp_veo_refuse(EINVAL);
    if (acp_veo_drain(context) != 0) return -1;
    struct veo_proc_handle* const process = context->process;
    pthread_mutex_lock(&process->lock);
    pthread_mutex_lock(&context->lock);
    context->is_open = 0;
    context->first = context->ended;
    if (context != process->contexts[0] && acp_close_context(context->context) != 0)
        result = acp_veo_fail();
    pthread_mutex_unlock(&context->lock);
    pthread_mutex_unlock(&process->lock);
    return result;
}

/* Waits until all requests of a context have ended. */
static inline void veo_context_sync(struct veo_thr_ctxt* context) {
    if (context != NULL) (void)acp_veo_drain(context);
}

/* A veo_context_state. */
static inline int veo_get_context_state(struct veo_thr_ctxt* context) {
    if (context == NULL) return VEO_STATE_UNKNOWN;
    return context->is_open && acp_query_process(context->process->process) > 0 ? VEO_STATE_RUNNING
                                                                                : VEO_STATE_EXIT;
}

/* The number of open contexts. */
static inline int veo_num_contexts(struct veo_proc_handle* process) {
    int count = 0;
    if (process == NULL) return acp_veo_refuse(EINVAL);
    pthread_mutex_lock(&process->lock);
    for (int i = 0; i < ACP_VEO_CONTEXTS_MAX; ++i)
        count += process->contexts[i] != NULL && process->contexts[i]->is_open;
    pthread_mutex_unlock(&process->lock);
    return count;
}

/* An open context, or NULL.   index  0 .. veo_num_contexts - 1 */
static inline struct veo_thr_ctxt* veo_get_context(struct veo_proc_handle* process, int index) {
    struct veo_thr_ctxt* found = NULL;
    if (process == NULL) return NULL;
    pthread_mutex_lock(&process->lock);
    for (int i = 0; i < ACP_VEO_CONTEXTS_MAX && found == NULL; ++i) {
        if (process->contexts[i] != NULL && process->contexts[i]->is_open && index-- == 0)
            found = process->contexts[i];
    }
    pthread_mutex_unlock(&process->lock);
    return found;
}

/* Between the two only the calling thread adds requests to a context; others wait. */
static inline void veo_req_block_begin(struct veo_thr_ctxt* context) {
    if (context == NULL) return;
    pthread_mutex_lock(&context->lock);
    while (context->blocks != 0 && !pthread_equal(context->blocker, pthread_self()))
        pthread_cond_wait(&context->changed, &context->lock);
    ++context->blocks;
    context->blocker = pthread_self();
    pthread_mutex_unlock(&context->lock);
}

static inline void veo_req_block_end(struct veo_thr_ctxt* context) {
    if (context == NULL) return;
    pthread_mutex_lock(&context->lock);
    if (context->blocks != 0 && pthread_equal(context->blocker, pthread_self())) --context->blocks;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
}

static inline int veo_api_version(void) {
    return VEO_API_VERSION;
}

static inline const char* veo_version_string(void) {
    return acp_version();
}

#ifdef __cplusplus
}
#endif

#endif
