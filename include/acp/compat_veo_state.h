/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: the constants and types of VEO, and what they stand for. Programs use only
 * the names that begin with veo and VEO. */
#ifndef ACP_COMPAT_VEO_STATE_H
#define ACP_COMPAT_VEO_STATE_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <acp/error.h>
#include <acp/offload.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VEO_API_VERSION 15
#define VEO_SYMNAME_LEN_MAX (255)
#define VEO_MAX_NUM_ARGS (256)
#define VEO_REQUEST_ID_INVALID (~0UL)

enum veo_context_state {
    VEO_STATE_UNKNOWN = 0,
    VEO_STATE_RUNNING,
    VEO_STATE_SYSCALL,
    VEO_STATE_BLOCKED,
    VEO_STATE_EXIT
};

enum veo_command_state {
    VEO_COMMAND_OK = 0,
    VEO_COMMAND_EXCEPTION,
    VEO_COMMAND_ERROR,
    VEO_COMMAND_UNFINISHED
};

enum veo_queue_state { VEO_QUEUE_READY = 0, VEO_QUEUE_CLOSED };

enum veo_args_intent { VEO_INTENT_IN = 0, VEO_INTENT_INOUT, VEO_INTENT_OUT };

/* The rest of this header is not for programs. */

#ifdef __cplusplus
#define ACP_VEO_AS(type, pointer) (static_cast<type>(pointer))
#define ACP_VEO_NUMBER(pointer) (reinterpret_cast<uintptr_t>(pointer))
#define ACP_VEO_POINTER(number) (reinterpret_cast<void*>(static_cast<uintptr_t>(number)))
#define ACP_VEO_UNSIGNED(value) (static_cast<uint64_t>(value))
#define ACP_VEO_SIGNED(value) (static_cast<int64_t>(value))
#define ACP_VEO_INT(value) (static_cast<int>(value))
#else
#define ACP_VEO_AS(type, pointer) ((type)(pointer))
#define ACP_VEO_NUMBER(pointer) ((uintptr_t)(pointer))
#define ACP_VEO_POINTER(number) ((void*)(uintptr_t)(number))
#define ACP_VEO_UNSIGNED(value) ((uint64_t)(value))
#define ACP_VEO_SIGNED(value) ((int64_t)(value))
#define ACP_VEO_INT(value) ((int)(value))
#endif

/* Processes at once, contexts of a process, and requests of a context whose results were not taken. */
enum { ACP_VEO_PROCESSES_MAX = 16, ACP_VEO_CONTEXTS_MAX = 16 };

#define ACP_VEO_REQUESTS_MAX (UINT64_C(1) << 20)

/* Calls that a context hands to its device process before they begin: fewer than it has slots, so
 * that a call is handed over without waiting. */
#define ACP_VEO_BEGUN_MAX UINT64_C(48)

/* Bytes that one call copies to or from memory of the process. */
#define ACP_VEO_PIECE_BYTES (UINT64_C(4) << 20)

/* The stack of a thread of acp-worker. */
#define ACP_VEO_STACK_BYTES (UINT64_C(8) << 20)

enum acp_veo_kind {
    ACP_VEO_CALL, /* runs in the device process; the others run in the rank */
    ACP_VEO_HOST_CALL,
    ACP_VEO_WRITE,
    ACP_VEO_READ,
    ACP_VEO_COPY,
    ACP_VEO_ALLOC,
    ACP_VEO_FREE
};

struct acp_veo_request {
    enum acp_veo_kind kind;
    int status;       /* veo_command_state */
    int is_taken;     /* the result */
    int64_t call;     /* its number in the context of the device process, once it has begun */
    uint64_t address; /* address of a function, or of device memory */
    void* memory;     /* memory of the rank; of a host call the argument */
    uint64_t size;    /* bytes */
    uint64_t (*host)(void*);
    struct veo_args* args; /* owned once the call waits for others to begin; NULL: none */
    int owns_args;
    uint64_t result;
    int is_synchronous; /* made on the main context by a call without one, also while it is closed */
};

/* Requests have numbers from 1, and end in their order. Those before `ended` have ended; calls before
 * `begun` were handed to the device process. One thread at a time, the driver, makes the oldest one
 * end; it does not hold the lock while it waits, or runs a function. */
struct veo_thr_ctxt {
    struct veo_proc_handle* process;
    acp_context_t context;
    int is_open;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t changed;
    struct acp_veo_request* requests; /* a ring: number modulo room */
    uint64_t room;                    /* a power of two, or 0 */
    uint64_t first;                   /* number of the oldest request that is kept */
    uint64_t ended;
    uint64_t begun;
    uint64_t next;
    int is_driven;
    pthread_t driver;
    unsigned blocks; /* calls of veo_req_block_begin by the blocker that have no end yet */
    pthread_t blocker;
};

struct veo_proc_handle {
    acp_process_t process;
    int identifier;
    int node;
    int pid;
    uint64_t copy_function; /* memcpy in the process */
    pthread_mutex_t lock;   /* guards the following */
    /* [0] is the main context, whose thread runs from its first use to the end of the process. */
    struct veo_thr_ctxt* contexts[ACP_VEO_CONTEXTS_MAX];
};

/* A block of device memory. */
struct acp_veo_block {
    uint64_t address;
    uint64_t size;
    acp_ga_t memory;
    struct veo_proc_handle* process;
};

struct acp_veo_state {
    pthread_mutex_t lock;
    struct veo_proc_handle* processes[ACP_VEO_PROCESSES_MAX]; /* index: the identifier */
    struct acp_veo_block* blocks;                             /* sorted by address */
    size_t block_count;
    size_t block_room;
    int will_leave; /* the job, at exit */
    void (*on_alloc)(void*, size_t);
    void (*on_free)(uint64_t);
};

/* One for the program: the linker keeps one of the definitions in its sources. */
__attribute__((weak)) struct acp_veo_state acp_veo_state = {
    PTHREAD_MUTEX_INITIALIZER, {NULL}, NULL, 0, 0, 0, NULL, NULL};

/* Sets errno for the calling thread's last failure of ACP; returns -1. */
static inline int acp_veo_fail(void) {
    switch (acp_errno()) {
        case ACP_ERR_ARGUMENT:
        case ACP_ERR_ADDRESS:
            errno = EINVAL;
            break;
        case ACP_ERR_STALE:
        case ACP_ERR_PEER:
            errno = ESRCH;
            break;
        case ACP_ERR_MEMORY:
            errno = ENOMEM;
            break;
        case ACP_ERR_LIMIT:
            errno = EAGAIN;
            break;
        case ACP_ERR_TIMEOUT:
            errno = ETIMEDOUT;
            break;
        case ACP_ERR_UNSUPPORTED:
            errno = ENOSYS;
            break;
        default:
            errno = EIO;
    }
    return -1;
}

static inline int acp_veo_refuse(int error) {
    errno = error;
    return -1;
}

/* The block that an address lies in, or NULL. While acp_veo_state.lock is held. */
static inline struct acp_veo_block* acp_veo_block_at(uint64_t address) {
    size_t first = 0, last = acp_veo_state.block_count;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (acp_veo_state.blocks[middle].address <= address) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    if (first == 0) return NULL;
    struct acp_veo_block* const block = acp_veo_state.blocks + first - 1;
    return address - block->address < block->size ? block : NULL;
}

/* Finds the block that a whole range lies in. Returns whether there is one. */
static inline int acp_veo_find_block(uint64_t address, uint64_t size, struct acp_veo_block* found) {
    pthread_mutex_lock(&acp_veo_state.lock);
    const struct acp_veo_block* const block = acp_veo_block_at(address);
    const int is_inside = block != NULL && size <= block->size - (address - block->address);
    if (is_inside && found != NULL) *found = *block;
    pthread_mutex_unlock(&acp_veo_state.lock);
    return is_inside;
}

/* 0, or -1 without memory. */
static inline int acp_veo_add_block(const struct acp_veo_block* block) {
    struct acp_veo_state* const state = &acp_veo_state;
    int result = 0;
    pthread_mutex_lock(&state->lock);
    if (state->block_count == state->block_room) {
        const size_t room = state->block_room == 0 ? 64 : 2 * state->block_room;
        void* const blocks = realloc(state->blocks, room * sizeof *state->blocks);
        if (blocks != NULL) {
            state->blocks = ACP_VEO_AS(struct acp_veo_block*, blocks);
            state->block_room = room;
        } else {
            result = acp_veo_refuse(ENOMEM);
        }
    }
    if (result == 0) {
        size_t at = state->block_count++;
        while (at > 0 && state->blocks[at - 1].address > block->address) {
            state->blocks[at] = state->blocks[at - 1];
            --at;
        }
        state->blocks[at] = *block;
    }
    pthread_mutex_unlock(&state->lock);
    return result;
}

/* Removes the block that begins at an address, or any of a process if the address is 0. Returns
 * whether there was one. */
static inline int acp_veo_remove_block(struct veo_proc_handle* process,
                                       uint64_t address,
                                       struct acp_veo_block* removed) {
    struct acp_veo_state* const state = &acp_veo_state;
    int is_found = 0;
    pthread_mutex_lock(&state->lock);
    for (size_t at = 0; at < state->block_count && !is_found; ++at) {
        if (state->blocks[at].process != process) continue;
        if (address != 0 && state->blocks[at].address != address) continue;
        *removed = state->blocks[at];
        --state->block_count;
        memmove(state->blocks + at, state->blocks + at + 1,
                (state->block_count - at) * sizeof *state->blocks);
        is_found = 1;
    }
    pthread_mutex_unlock(&state->lock);
    return is_found;
}

#ifdef __cplusplus
}
#endif

#endif
