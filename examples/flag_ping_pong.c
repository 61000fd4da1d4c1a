/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ping-pong by a word: rank 0 writes the number of a round into the memory of rank 1, which waits for the word and writes it back. Both are in
 * acp_wait_word when nothing is to do: they spin or sleep as the machine allows.
 *
 *   acprun -n 2 ./flag_ping_pong
 *
 * prints how long a word is on its way, for example
 *
 *   10000 rounds, 0.15 us one way
 *
 * 2 ranks or more; those from rank 2 on do nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <acp.h>

enum { rounds = 10000 };

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return EXIT_FAILURE;
    const int rank = acp_rank();
    const uint64_t* word = acp_query_address(acp_query_starter_ga(rank));
    const double start_us = now_us();
    if (rank < 2) {
        const acp_ga_t other = acp_query_starter_ga(1 - rank);
        for (uint64_t round = 1; round <= rounds; ++round) {
            if (rank == 0) acp_swap8(ACP_GA_NULL, other, round, ACP_HANDLE_NULL);
            if (acp_wait_word(word, sizeof *word, ACP_WORD_EQUAL, round, -1) != ACP_OK)
                acp_abort("flag_ping_pong");
            if (rank == 1) acp_swap8(ACP_GA_NULL, other, round, ACP_HANDLE_NULL);
        }
    }
    if (rank == 0)
        printf("%d rounds, %.2f us one way\n", rounds, (now_us() - start_us) / (2.0 * rounds));
    return acp_finalize() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
