/* SPDX-License-Identifier: BSD-3-Clause */
/* The counterpart of examples/transposition.c in OpenSHMEM. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { length = 64 };

/* In the memory of every rank. */
typedef struct {
    unsigned long blocks; /* how many have come */
    uint64_t rows[length][length];
} matrix_t;

static matrix_t out;

int main(void) {
    shmem_init();
    const int rank = shmem_my_pe(), procs = shmem_n_pes(), rows = length / procs;
    static uint64_t block[length];
    for (int i = 0; i < procs; ++i) {
        const int to = (rank + i) % procs;
        for (int column = to * rows; column < (to + 1) * rows; ++column) {
            for (int row = 0; row < rows; ++row)
                block[row] = (uint64_t)((rank * rows + row) * length + column);
            shmem_uint64_put(&out.rows[column - to * rows][rank * rows], block, (size_t)rows, to);
        }
        shmem_fence();
        shmem_ulong_atomic_add(&out.blocks, 1, to);
    }
    shmem_ulong_wait_until(&out.blocks, SHMEM_CMP_EQ, (uint64_t)procs);
    int wrong = 0;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < length; ++column)
            wrong += out.rows[row][column] != (uint64_t)(column * length + rank * rows + row);
    }
    if (rank == 0 && wrong == 0)
        printf("%d ranks transposed a matrix of %d x %d\n", procs, length, length);
    shmem_finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
