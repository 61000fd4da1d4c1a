/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of compat_veo.h: functions of VEO that name parts of a Vector Engine or of its system. They
 * fail with ENOSYS and do nothing; acp_compat_veo(3) has the reason for each. */
#ifndef ACP_COMPAT_VEO_REFUSED_H
#define ACP_COMPAT_VEO_REFUSED_H

#include <acp/compat_veo_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The processor of a node: there is none. */
static inline int veo_get_ve_arch(int node) {
    (void)node;
    return acp_veo_refuse(ENOSYS);
}

/* Hooks in VEO's functions. */
static inline void veo_register_hook(void* function, void (*hook)(void*, ...), void* payload) {
    (void)function;
    (void)hook;
    (void)payload;
    errno = ENOSYS;
}

static inline void* veo_get_hook(void* function) {
    (void)function;
    errno = ENOSYS;
    return NULL;
}

static inline void veo_unregister_hook(void* function) {
    (void)function;
    errno = ENOSYS;
}

/* Shared memory of the host in a VE process. */
static inline int veo_shmget(struct veo_proc_handle* process, int key, size_t size, int flags) {
    (void)process;
    (void)key;
    (void)size;
    (void)flags;
    return acp_veo_refuse(ENOSYS);
}

static inline void* veo_shmat(struct veo_proc_handle* process,
                              int segment,
                              const void* address,
                              int flags,
                              void** device_address) {
    (void)process;
    (void)segment;
    (void)address;
    (void)flags;
    (void)device_address;
    errno = ENOSYS;
    return NULL;
}

static inline int veo_shmdt(struct veo_proc_handle* process, const void* address) {
    (void)process;
    (void)address;
    return acp_veo_refuse(ENOSYS);
}

/* Memory shared by VE processes. */
static inline int veo_shared_mem_open(void* address, size_t size, int sync, long long mode) {
    (void)address;
    (void)size;
    (void)sync;
    (void)mode;
    return acp_veo_refuse(ENOSYS);
}

static inline int veo_shared_mem_close(void* address, size_t size, int sync, long long mode) {
    return veo_shared_mem_open(address, size, sync, mode);
}

static inline void* veo_shared_mem_attach(struct veo_proc_handle* process,
                                          pid_t pid,
                                          void* address,
                                          size_t size,
                                          int sync,
                                          long long mode) {
    (void)process;
    (void)pid;
    (void)veo_shared_mem_open(address, size, sync, mode);
    return NULL;
}

static inline int veo_shared_mem_detach(struct veo_proc_handle* process,
                                        void* address,
                                        long long mode) {
    (void)process;
    return veo_shared_mem_open(address, 0, 0, mode);
}

/* The DMA engine of a Vector Engine. */
typedef struct ve_dma_handle {
    int status;
    int index;
} ve_dma_handle_t;

static inline int veo_dma_post(struct veo_proc_handle* process,
                               uint64_t target,
                               uint64_t source,
                               int size,
                               ve_dma_handle_t* handle) {
    (void)process;
    (void)target;
    (void)source;
    (void)size;
    (void)handle;
    return acp_veo_refuse(ENOSYS);
}

static inline int veo_dma_poll(struct veo_proc_handle* process, ve_dma_handle_t* handle) {
    return veo_dma_post(process, 0, 0, 0, handle);
}

static inline int veo_dma_post_wait(struct veo_proc_handle* process,
                                    uint64_t target,
                                    uint64_t source,
                                    int size) {
    return veo_dma_post(process, target, source, size, NULL);
}

static inline uint64_t veo_register_mem_to_dmaatb(void* address, size_t size) {
    (void)address;
    (void)size;
    errno = ENOSYS;
    return UINT64_MAX;
}

static inline int veo_unregister_mem_from_dmaatb(struct veo_proc_handle* process,
                                                 uint64_t address) {
    return veo_dma_post(process, address, 0, 0, NULL);
}

static inline void veo_access_pcircvsyc_register(struct veo_proc_handle* process) {
    (void)process;
    errno = ENOSYS;
}

#ifdef __cplusplus
}
#endif

#endif
