/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program whose system calls are refused: "refuse ERRNO CALL[,CALL...] PROGRAM
 * [ARGUMENT...]". The refusal holds for everything the program starts, as in a sandbox. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char* name;
    long number;
} calls[] = {
    {"getrandom", SYS_getrandom},
    {"inotify_init1", SYS_inotify_init1},
    {"membarrier", SYS_membarrier},
    {"memfd_create", SYS_memfd_create},
    {"pidfd_open", 434},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"waitid", SYS_waitid},
};

static long number_of(const char* name) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        if (strcmp(calls[i].name, name) == 0) return calls[i].number;
    }
    fprintf(stderr, "refuse: unknown call %s\n", name);
    exit(2);
}

/* A program of the filter per call: the number is compared, the refusal returned. */
static void refuse(long number, unsigned error) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("refuse");
        exit(77);
    }
}

int main(int argc, char** argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: refuse ERRNO CALL[,CALL...] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    const unsigned error = (unsigned)atoi(argv[1]);
    for (char* name = strtok(argv[2], ","); name != NULL; name = strtok(NULL, ",")) {
        refuse(number_of(name), error);
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
