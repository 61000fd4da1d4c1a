/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline: each cell of a table is the sum of its left and its upper neighbour, modulo a prime. Each rank has some columns. It can compute a row as
 * soon as the rank to its left has put the last number of that row into its memory, with a signal that counts rows.
 *
 *   acprun -n 4 ./wavefront
 *
 * prints
 *
 *   the last of 512 x 512 numbers is 983345
 *
 * Any number of ranks up to 512. Exits with 1 when the number is another one.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { length = 512, prime = 1000003, last_number = 983345 };

/* At the start of every rank's starter memory. */
typedef struct {
    uint64_t left[length]; /* the numbers to the left of this rank's columns */
    uint64_t rows;         /* how many have come */
} inbox_t;

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return EXIT_FAILURE;
    const int rank = acp_rank(), procs = acp_procs();
    const int columns = (rank + 1) * length / procs - rank * length / procs;
    inbox_t* in = acp_query_address(acp_query_starter_ga(rank));
    static uint64_t row[length], right[length];
    for (int column = 0; column < columns; ++column) row[column] = 1;
    acp_handle_t sent = ACP_HANDLE_NULL; /* each after the one before: the next rank counts them */
    for (uint64_t i = 0; i < length; ++i) {
        if (rank == 0) {
            in->left[i] = 1;
        } else if (acp_wait_word(&in->rows, 8, ACP_WORD_GREATER, i, -1) != ACP_OK) {
            acp_abort("wavefront");
        }
        uint64_t left = in->left[i];
        for (int column = 0; column < columns; ++column)
            left = row[column] = (row[column] + left) % prime;
        if (rank + 1 < procs) {
            const acp_ga_t next = acp_query_starter_ga(rank + 1);
            right[i] = left; /* stays until the put is complete */
            sent =
                acp_put_signal(next + 8 * i, &right[i], 8, next + offsetof(inbox_t, rows), 1, sent);
        }
    }
    const uint64_t last = row[columns - 1];
    if (rank == procs - 1) printf("the last of %d x %d numbers is %d\n", length, length, (int)last);
    if (acp_finalize() != 0) return EXIT_FAILURE;
    return rank == procs - 1 && last != last_number ? EXIT_FAILURE : EXIT_SUCCESS;
}
