/* SPDX-License-Identifier: BSD-3-Clause */
/* The counterpart of examples/flag_ping_pong.c in OpenSHMEM. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { rounds = 10000 };

static uint64_t word;

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(void) {
    shmem_init();
    const int rank = shmem_my_pe();
    const double start_us = now_us();
    if (rank < 2) {
        const int other = (rank + 1) % shmem_n_pes();
        for (uint64_t round = 1; round <= rounds; ++round) {
            if (rank == 0) shmem_uint64_p(&word, round, other);
            shmem_uint64_wait_until(&word, SHMEM_CMP_EQ, round);
            if (rank == 1) shmem_uint64_p(&word, round, other);
        }
    }
    if (rank == 0)
        printf("%d rounds, %.2f us one way\n", rounds, (now_us() - start_us) / (2.0 * rounds));
    shmem_finalize();
    return EXIT_SUCCESS;
}
