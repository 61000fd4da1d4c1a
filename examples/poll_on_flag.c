/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling on a flag: a letter goes round the ring of ranks. The sender copies it into its neighbour's
 * starter memory and then, ordered after it, a flag; it waits for neither. The receiver looks at the
 * flag with plain loads and makes no ACP call until the letter is there: commands finish by themselves.
 *
 *   acprun -n 4 ./poll_on_flag
 *
 * prints
 *
 *   100 letters went round 4 ranks
 *
 * Any number of ranks. Exits with 1 when a flag arrived before its letter.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include <acp.h>

enum { letters = 100, words = 512 };

struct letter {
    uint64_t words[words];
};

/* What lies at the start of every rank's starter memory, which is zero when the program begins. */
struct starter {
    struct letter inbox;         /* written by the left neighbour */
    _Atomic uint64_t inbox_flag; /* then this: the number of the letter in the inbox */
    struct letter outbox;        /* written by its owner, unchanged until it has gone all round */
    uint64_t outbox_flag;
};

/* Writes letter `number` to the right neighbour. Does not wait. */
static void send_letter(struct starter* mine, uint64_t number) {
    const acp_ga_t source = acp_query_starter_ga(acp_rank());
    const acp_ga_t target = acp_query_starter_ga((acp_rank() + 1) % acp_procs());
    for (int i = 0; i < words; ++i) mine->outbox.words[i] = number;
    mine->outbox_flag = number;

    const acp_handle_t letter =
        acp_copy(target + offsetof(struct starter, inbox),
                 source + offsetof(struct starter, outbox), sizeof(struct letter), ACP_HANDLE_NULL);
    acp_copy(target + offsetof(struct starter, inbox_flag),
             source + offsetof(struct starter, outbox_flag), sizeof(uint64_t), letter);
}

/* Waits until letter `number` is here. Returns how many of its words are wrong. */
static int receive_letter(struct starter* mine, uint64_t number) {
    /* Acquire: who sees the flag sees the letter that was copied before it. */
    while (atomic_load_explicit(&mine->inbox_flag, memory_order_acquire) != number) thrd_yield();
    int wrong = 0;
    for (int i = 0; i < words; ++i) wrong += mine->inbox.words[i] != number;
    return wrong;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "poll_on_flag: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    struct starter* mine = acp_query_address(acp_query_starter_ga(acp_rank()));
    int wrong = 0;
    for (uint64_t number = 1; number <= letters; ++number) {
        if (acp_rank() == 0) send_letter(mine, number);
        wrong += receive_letter(mine, number);
        if (acp_rank() != 0) send_letter(mine, number);
    }
    if (wrong != 0) fprintf(stderr, "poll_on_flag: %d words came after their flag\n", wrong);
    if (acp_sync() != 0) acp_abort("poll_on_flag");
    if (acp_rank() == 0 && wrong == 0)
        printf("%d letters went round %d ranks\n", letters, acp_procs());
    if (acp_finalize() != 0) acp_abort("poll_on_flag");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
