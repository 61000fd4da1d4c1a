/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: memory of a VE process. A block is allocated in the heap of the rank, and its
 * address is valid in the process and in the rank: copies of blocks are made by the rank. Other
 * memory of the process (its variables, its stacks) is copied by the process. */
#ifndef ACP_COMPAT_VEO_MEMORY_H
#define ACP_COMPAT_VEO_MEMORY_H

#include <acp/compat_veo_queue.h>
#include <acp/compat_veo_run.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline struct acp_veo_request acp_veo_memory_request(enum acp_veo_kind kind,
                                                            uint64_t address,
                                                            void* memory,
                                                            uint64_t size) {
    struct acp_veo_request request;
    memset(&request, 0, sizeof request);
    request.kind = kind;
    request.status = VEO_COMMAND_UNFINISHED;
    request.address = address;
    request.memory = memory;
    request.size = size;
    return request;
}

/* A request on the main context, behind all that were made on it; waits for its end. 0, or -1. */
static inline int acp_veo_do_on_main(struct veo_proc_handle* process,
                                     enum acp_veo_kind kind,
                                     uint64_t address,
                                     void* memory,
                                     uint64_t size,
                                     uint64_t* result) {
    struct acp_veo_request request = acp_veo_memory_request(kind, address, memory, size);
    request.is_synchronous = 1;
    return acp_veo_do(acp_veo_main_context(process), &request, result);
}

static inline int veo_alloc_mem(struct veo_proc_handle* process,
                                uint64_t* address,
                                const size_t size) {
    if (process == NULL || address == NULL || size == 0) return acp_veo_refuse(EINVAL);
    return acp_veo_alloc(process, size, address);
}

static inline int veo_free_mem(struct veo_proc_handle* process, uint64_t address) {
    if (process == NULL) return acp_veo_refuse(EINVAL);
    return acp_veo_do_on_main(process, ACP_VEO_FREE, address, NULL, 0, NULL);
}

static inline int veo_read_mem(struct veo_proc_handle* process,
                               void* target,
                               uint64_t source,
                               size_t size) {
    if (process == NULL || target == NULL) return acp_veo_refuse(EINVAL);
    return acp_veo_do_on_main(process, ACP_VEO_READ, source, target, size, NULL);
}

static inline int veo_write_mem(struct veo_proc_handle* process,
                                uint64_t target,
                                const void* source,
                                size_t size) {
    void* from;
    if (process == NULL || source == NULL) return acp_veo_refuse(EINVAL);
    memcpy(&from, &source, sizeof from);
    return acp_veo_do_on_main(process, ACP_VEO_WRITE, target, from, size, NULL);
}

static inline uint64_t veo_async_read_mem(struct veo_thr_ctxt* context,
                                          void* target,
                                          uint64_t source,
                                          size_t size) {
    const struct acp_veo_request request =
        acp_veo_memory_request(ACP_VEO_READ, source, target, size);
    return acp_veo_add(target != NULL ? context : NULL, &request);
}

static inline uint64_t veo_async_write_mem(struct veo_thr_ctxt* context,
                                           uint64_t target,
                                           const void* source,
                                           size_t size) {
    void* from;
    memcpy(&from, &source, sizeof from);
    const struct acp_veo_request request =
        acp_veo_memory_request(ACP_VEO_WRITE, target, from, size);
    return acp_veo_add(source != NULL ? context : NULL, &request);
}

/* The result is the address. */
static inline uint64_t veo_alloc_mem_async(struct veo_thr_ctxt* context, const size_t size) {
    const struct acp_veo_request request = acp_veo_memory_request(ACP_VEO_ALLOC, 0, NULL, size);
    return acp_veo_add(size != 0 ? context : NULL, &request);
}

static inline uint64_t veo_free_mem_async(struct veo_thr_ctxt* context, uint64_t address) {
    const struct acp_veo_request request = acp_veo_memory_request(ACP_VEO_FREE, address, NULL, 0);
    return acp_veo_add(context, &request);
}

/* Pointers to memory of processes, which the rank may use as well (hmem). */

static inline int veo_alloc_hmem(struct veo_proc_handle* process,
                                 void** pointer,
                                 const size_t size) {
    uint64_t address = 0;
    if (pointer == NULL || veo_alloc_mem(process, &address, size) != 0) return -1;
    *pointer = ACP_VEO_POINTER(address);
    if (acp_veo_state.on_alloc != NULL) acp_veo_state.on_alloc(*pointer, size);
    return 0;
}

/* The process that has the memory of a pointer, or NULL. */
static inline struct veo_proc_handle* veo_get_proc_handle_from_hmem(const void* pointer) {
    struct acp_veo_block block;
    return acp_veo_find_block(ACP_VEO_NUMBER(pointer), 0, &block) ? block.process : NULL;
}

static inline int veo_free_hmem(void* pointer) {
    struct veo_proc_handle* const process = veo_get_proc_handle_from_hmem(pointer);
    if (process == NULL) return acp_veo_refuse(EINVAL);
    if (acp_veo_state.on_free != NULL) acp_veo_state.on_free(ACP_VEO_NUMBER(pointer));
    return veo_free_mem(process, ACP_VEO_NUMBER(pointer));
}

static inline int veo_is_ve_addr(const void* pointer) {
    return veo_get_proc_handle_from_hmem(pointer) != NULL;
}

/* The address in the process, which is the pointer itself. */
static inline void* veo_get_hmem_addr(void* pointer) {
    return pointer;
}

static inline int veo_hmemcpy(void* target, const void* source, size_t size) {
    void* from;
    struct acp_veo_block block;
    struct veo_proc_handle* process = veo_get_proc_handle_from_hmem(target);
    struct veo_proc_handle* const other = veo_get_proc_handle_from_hmem(source);
    if (target == NULL || source == NULL) return acp_veo_refuse(EINVAL);
    if (process != NULL && !acp_veo_find_block(ACP_VEO_NUMBER(target), size, &block))
        return acp_veo_refuse(EFAULT);
    if (other != NULL && !acp_veo_find_block(ACP_VEO_NUMBER(source), size, &block))
        return acp_veo_refuse(EFAULT);
    if (process != NULL && other != NULL && process != other) return acp_veo_refuse(EXDEV);
    if (process == NULL) process = other;
    memcpy(&from, &source, sizeof from);
    if (process != NULL)
        return acp_veo_do_on_main(process, ACP_VEO_COPY, ACP_VEO_NUMBER(target), from, size, NULL);
    memmove(target, source, size);
    return 0;
}

static inline int veo_get_pid_from_hmem(const void* pointer) {
    const struct veo_proc_handle* const process = veo_get_proc_handle_from_hmem(pointer);
    return process != NULL ? process->pid : acp_veo_refuse(EINVAL);
}

static inline int veo_get_venum_from_hmem(const void* pointer) {
    const struct veo_proc_handle* const process = veo_get_proc_handle_from_hmem(pointer);
    return process != NULL ? process->node : acp_veo_refuse(EINVAL);
}

static inline int veo_get_proc_identifier_from_hmem(const void* pointer) {
    const struct veo_proc_handle* const process = veo_get_proc_handle_from_hmem(pointer);
    return process != NULL ? process->identifier : acp_veo_refuse(EINVAL);
}

static inline int veo_get_max_proc_identifier(void) {
    return ACP_VEO_PROCESSES_MAX;
}

/* An address of a process as a pointer: the address itself, or NULL if it is in no block of the
 * process with that identifier. */
static inline void* veo_set_proc_identifier(void* address, int identifier) {
    const struct veo_proc_handle* const process = veo_get_proc_handle_from_hmem(address);
    if (process != NULL && process->identifier == identifier) return address;
    errno = EINVAL;
    return NULL;
}

/* Functions to call after veo_alloc_hmem, and before veo_free_hmem. */
static inline void veo_register_hmem_hook_functions(void (*on_alloc)(void*, size_t),
                                                    void (*on_free)(uint64_t)) {
    acp_veo_state.on_alloc = on_alloc;
    acp_veo_state.on_free = on_free;
}

static inline void veo_unregister_hmem_hook_functions(void) {
    veo_register_hmem_hook_functions(NULL, NULL);
}

#ifdef __cplusplus
}
#endif

#endif
