/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transposes a matrix whose rows are divided among the ranks: each rank turns its block for each other rank and puts it there row by row,
 * and then counts the block. It waits for one block of each rank.
 *
 *   acprun -n 4 ./transposition
 *
 * prints
 *
 *   4 ranks transposed a matrix of 64 x 64
 *
 * Any number of ranks up to 64. Exits with 1 when a number is at the wrong place.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { length = 64 };

/* At the start of every rank's starter memory. */
typedef struct {
    uint64_t blocks; /* how many have come */
    uint64_t rows[][length];
} matrix_t;

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return EXIT_FAILURE;
    const int rank = acp_rank(), procs = acp_procs(), first = rank * length / procs;
    const int rows = (rank + 1) * length / procs - first;
    matrix_t* out = acp_query_address(acp_query_starter_ga(rank));
    static uint64_t block[length];
    for (int i = 0; i < procs; ++i) {
        const int to = (rank + i) % procs, start = to * length / procs;
        const acp_ga_t there = acp_query_starter_ga(to);
        for (int column = start; column < (to + 1) * length / procs; ++column) {
            for (int row = 0; row < rows; ++row)
                block[row] = (uint64_t)(first + row) * length + (uint64_t)column;
            const size_t at = sizeof(uint64_t) * (size_t)(1 + (column - start) * length + first);
            acp_complete(acp_put(there + at, block, sizeof *block * (size_t)rows, ACP_HANDLE_NULL));
        }
        acp_add8(ACP_GA_NULL, there, 1, ACP_HANDLE_NULL);
    }
    if (acp_wait_word(&out->blocks, 8, ACP_WORD_EQUAL, (uint64_t)procs, -1) != ACP_OK)
        acp_abort("transposition");
    int wrong = 0;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < length; ++column)
            wrong += out->rows[row][column] != (uint64_t)column * length + (uint64_t)(first + row);
    }
    if (rank == 0 && wrong == 0)
        printf("%d ranks transposed a matrix of %d x %d\n", procs, length, length);
    return acp_finalize() == 0 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
