/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program of figure 2 of paper 004 (for NEC's Vector Engine Offloading), but for blanks: it
 * starts a process on a device, copies 128 bytes to memory of that process and back, and ends it. Run
 * it without a launcher, or under acprun. Prints nothing. Exits with 0; with 1 when there is no
 * process, 2 no context, 5 no memory, or a copy that failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ve_offload.h>
#define BUFSZ 128

int main(int argc, char** argv) {
    /* 1. create a process on VE */
    struct veo_proc_handle* proc = veo_proc_create(0);
    if (proc == NULL) {
        perror("veo_proc_create");
        exit(1);
    }

    /* 2. create a context of the VE context */
    struct veo_thr_ctxt* ctx = veo_context_open(proc);
    if (ctx == NULL) {
        perror("veo_context_open");
        exit(2);
    }

    /* 3. prepare for function execution */
    uint64_t mem;
    unsigned char* p = (unsigned char*)malloc(BUFSZ);
    /* allocate a memory region */
    int ret = veo_alloc_mem(proc, &mem, BUFSZ);
    if (ret < 0) exit(5);
    memset(p, 0, BUFSZ);

    /* 4. copy VH memory to VE memory */
    ret = veo_write_mem(proc, mem, p, BUFSZ);
    if (ret < 0) exit(5);

    /* 5. copy VE memory to VH memory */
    ret = veo_read_mem(proc, p, mem, BUFSZ);
    if (ret < 0) exit(5);

    /* 6. close the context */
    veo_context_close(ctx);

    /* 7. destroy the process */
    veo_proc_destroy(proc);

    return 0;
}
