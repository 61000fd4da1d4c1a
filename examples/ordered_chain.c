/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordered chain: rank 0 sends a parcel round all ranks and back, one copy per hop, and adds 1 to the
 * parcel's stamp wherever it arrives. It issues all these commands at once, each with the handle
 * of the one before as its order, and waits only for the last. A hop that overtook another would
 * carry an old parcel, and the stamp that comes home would be too small.
 *
 *   acprun -n 4 ./ordered_chain
 *
 * prints
 *
 *   the parcel came home with 400 stamps after 100 rounds of 4 ranks
 *
 * Any number of ranks. Exits with 1 when the parcel has the wrong stamp or lost its text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

enum { rounds = 100 };

static const char text[] = "handle with care";

struct parcel {
    uint64_t stamp;
    char text[sizeof text + 1000];
};

/* What lies at the start of every rank's starter memory. */
struct starter {
    struct parcel inbox;  /* the parcel lands here */
    struct parcel outbox; /* on rank 0: what is sent first */
    uint64_t old_stamp;   /* an atomic stores the value from before somewhere: on rank 0, here */
};

/* Issues the whole journey. Returns the handle of its last command. */
static acp_handle_t send_parcel(void) {
    const acp_ga_t home = acp_query_starter_ga(0);
    const acp_ga_t old_stamp = home + offsetof(struct starter, old_stamp);
    acp_ga_t here = home + offsetof(struct starter, outbox);
    acp_handle_t last = ACP_HANDLE_NULL;
    for (int hop = 1; hop <= rounds * acp_procs(); ++hop) {
        const acp_ga_t next =
            acp_query_starter_ga(hop % acp_procs()) + offsetof(struct starter, inbox);
        last = acp_copy(next, here, sizeof(struct parcel), last);
        last = acp_add8(old_stamp, next + offsetof(struct parcel, stamp), 1, last);
        here = next;
    }
    return last;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "ordered_chain: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    int failed = 0;
    if (acp_rank() == 0) {
        struct starter* mine = acp_query_address(acp_query_starter_ga(0));
        memcpy(mine->outbox.text, text, sizeof text);

        acp_complete(send_parcel());

        const uint64_t expected = (uint64_t)rounds * (uint64_t)acp_procs();
        failed = mine->inbox.stamp != expected || strcmp(mine->inbox.text, text) != 0;
        fprintf(failed ? stderr : stdout,
                "the parcel came home with %" PRIu64 " stamps after %d rounds of %d ranks\n",
                mine->inbox.stamp, rounds, acp_procs());
        if (failed) fprintf(stderr, "ordered_chain: expected %" PRIu64 " stamps\n", expected);
    }
    if (acp_finalize() != 0) acp_abort("ordered_chain");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
