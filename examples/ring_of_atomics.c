/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring of atomics: every rank has one counter, and all ranks at once walk round the ring of counters
 * and add 1 to each. An add returns the value from before, a ticket that nobody else gets, so the
 * tickets drawn from one counter are 0, 1, 2, ... and their sum tells whether one was lost or given
 * twice. The counters' owners take no part in it.
 *
 *   acprun -n 4 ./ring_of_atomics
 *
 * prints
 *
 *   4 ranks walked 100 laps: 1600 tickets, each given once
 *
 * Any number of ranks. Exits with 1 when a counter or the sum of all tickets is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { laps = 100 };

/* What lies at the start of every rank's starter memory, which is zero when the program begins. */
struct starter {
    uint64_t counter;    /* added to by all ranks */
    uint64_t ticket_sum; /* on rank 0: of the tickets of all ranks */
    uint64_t ticket;     /* the answer to its owner's latest add */
};

static acp_ga_t address_of(int rank, size_t offset) {
    return acp_query_starter_ga(rank) + offset;
}

#define ACP_ADDRESS_OF(rank, member) address_of(rank, offsetof(struct starter, member))

/* Returns the sum of the tickets drawn on the way. */
static uint64_t walk_ring(const struct starter* mine) {
    const acp_ga_t ticket = ACP_ADDRESS_OF(acp_rank(), ticket);
    const int procs = acp_procs();
    uint64_t sum = 0;
    for (int step = 0; step < laps * procs; ++step) {
        const int rank = (acp_rank() + step) % procs;
        acp_complete(acp_add8(ticket, ACP_ADDRESS_OF(rank, counter), 1, ACP_HANDLE_NULL));
        sum += mine->ticket;
    }
    return sum;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "ring_of_atomics: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const struct starter* mine = acp_query_address(ACP_ADDRESS_OF(acp_rank(), counter));
    const uint64_t procs = (uint64_t)acp_procs();
    const uint64_t visits = procs * laps; /* of each counter */

    const uint64_t sum = walk_ring(mine);
    acp_complete(acp_add8(ACP_ADDRESS_OF(acp_rank(), ticket), ACP_ADDRESS_OF(0, ticket_sum), sum,
                          ACP_HANDLE_NULL));
    if (acp_sync() != 0) acp_abort("ring_of_atomics"); /* every rank is round */

    int failed = mine->counter != visits;
    if (failed) {
        fprintf(stderr, "ring_of_atomics: rank %d's counter is %" PRIu64 ", not %" PRIu64 "\n",
                acp_rank(), mine->counter, visits);
    }
    const uint64_t expected = procs * (visits * (visits - 1) / 2);
    if (acp_rank() == 0 && mine->ticket_sum != expected) {
        fprintf(stderr, "ring_of_atomics: the tickets' sum is %" PRIu64 ", not %" PRIu64 "\n",
                mine->ticket_sum, expected);
        failed = 1;
    } else if (acp_rank() == 0 && !failed) {
        printf("%d ranks walked %d laps: %" PRIu64 " tickets, each given once\n", acp_procs(), laps,
               procs * visits);
    }
    if (acp_finalize() != 0) acp_abort("ring_of_atomics");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
