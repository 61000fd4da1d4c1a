/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Third-party copy: rank 0 moves an array from rank 1 to rank 2. The data never passes through
 * rank 0, and neither owner takes part: each registers its array and goes on with its own business.
 *
 *   acprun -n 3 ./third_party_copy
 *
 * prints
 *
 *   rank 0 moved 1000000 numbers from rank 1 to rank 2: all arrived
 *
 * 3 ranks or more. Exits with 1 when a number did not arrive.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { initiator = 0, giver = 1, taker = 2, ranks_min = 3, count = 1000000 };

static int64_t numbers[count];

/* The numbers' address on `owner`, which published it at the start of its starter memory. */
static acp_ga_t address_on(int owner) {
    const acp_ga_t scratch = acp_query_starter_ga(acp_rank()) + sizeof(acp_ga_t);
    acp_complete(acp_copy(scratch, acp_query_starter_ga(owner), sizeof(acp_ga_t), ACP_HANDLE_NULL));
    return *(const acp_ga_t*)acp_query_address(scratch);
}

static void move_numbers(void) {
    const acp_handle_t move =
        acp_copy(address_on(taker), address_on(giver), sizeof numbers, ACP_HANDLE_NULL);
    /* acp_wait returns the code of a failure, where acp_complete would end the program. */
    if (acp_wait(move, -1) != ACP_OK) acp_abort("third_party_copy: the copy failed");
}

/* How many numbers differ from the giver's, on the taker. */
static int count_wrong(void) {
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += numbers[i] != 3 * (int64_t)i + 1;
    printf("rank %d moved %d numbers from rank %d to rank %d: ", initiator, count, giver, taker);
    if (wrong == 0) {
        puts("all arrived");
    } else {
        printf("%d did NOT arrive\n", wrong);
    }
    return wrong;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "third_party_copy: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const int rank = acp_rank();
    if (acp_procs() < ranks_min) {
        if (rank == 0) {
            fprintf(stderr, "third_party_copy: needs %d ranks, has %d: acprun -n %d %s\n",
                    ranks_min, acp_procs(), ranks_min, argv[0]);
        }
        acp_finalize();
        return EXIT_FAILURE;
    }
    for (int i = 0; rank == giver && i < count; ++i) numbers[i] = 3 * (int64_t)i + 1;

    const acp_atkey_t key = acp_register_memory(numbers, sizeof numbers, 0);
    if (key == ACP_ATKEY_NULL) acp_abort("third_party_copy: cannot register the numbers");
    *(acp_ga_t*)acp_query_address(acp_query_starter_ga(rank)) = acp_query_ga(key, numbers);

    if (acp_sync() != 0) acp_abort("third_party_copy"); /* all addresses are published */
    if (rank == initiator) move_numbers();
    if (acp_sync() != 0) acp_abort("third_party_copy"); /* the copy is complete */

    const int wrong = rank == taker ? count_wrong() : 0;
    if (acp_unregister_memory(key) != 0 || acp_finalize() != 0) acp_abort("third_party_copy");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
