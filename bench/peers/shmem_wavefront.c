/* SPDX-License-Identifier: BSD-3-Clause */
/* The counterpart of examples/wavefront.c in OpenSHMEM. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { length = 512, prime = 1000003, last_number = 983345 };

/* In the memory of every rank. */
typedef struct {
    uint64_t left[length]; /* the numbers to the left of this rank's columns */
    unsigned long rows;    /* how many have come */
} inbox_t;

static inbox_t in;

int main(void) {
    shmem_init();
    const int rank = shmem_my_pe(), procs = shmem_n_pes(), columns = length / procs;
    uint64_t row[length];
    for (int column = 0; column < columns; ++column) row[column] = 1;
    for (uint64_t i = 0; i < length; ++i) {
        if (rank == 0) {
            in.left[i] = 1;
        } else {
            shmem_ulong_wait_until(&in.rows, SHMEM_CMP_GT, i);
        }
        uint64_t left = in.left[i];
        for (int column = 0; column < columns; ++column)
            left = row[column] = (row[column] + left) % prime;
        if (rank + 1 < procs) {
            shmem_uint64_p(&in.left[i], left, rank + 1);
            shmem_fence();
            shmem_ulong_atomic_add(&in.rows, 1, rank + 1);
        }
    }
    const uint64_t last = row[columns - 1];
    if (rank == procs - 1) printf("the last of %d x %d numbers is %d\n", length, length, (int)last);
    shmem_finalize();
    return rank == procs - 1 && last != last_number ? EXIT_FAILURE : EXIT_SUCCESS;
}
