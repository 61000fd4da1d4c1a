/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline: the sieve of Eratosthenes, each rank a stage of it. Numbers enter at rank 0 and move on through channels. A stage keeps the first
 * numbers that reach it, which are primes, lets no multiple of those pass, and sends what is left to the next stage.
 *
 *   acprun -n 4 ./prime_pipeline
 *
 * prints
 *
 *   the pipeline of 4 ranks found 1229 primes below 10000
 *
 * Any number of ranks. Exits with 1 when the number of primes is not that.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

/* The 25 primes below 100 are what all stages must keep: any other number below 10000 that is no prime is a multiple of one of them. */
enum { limit = 10000, to_keep = 25, primes_below_limit = 1229, end_of_numbers = 0 };

/* What moves from stage to stage. */
typedef struct {
    int32_t number;
    int32_t primes; /* with end_of_numbers: found by the stages before */
} parcel_t;

typedef struct {
    acp_ch_t in;  /* none: the first stage, which counts */
    acp_ch_t out; /* none: the last stage: what gets through it is prime */
    int32_t next; /* of the first stage: the number that is next */
    int32_t primes[to_keep];
    int kept;
    int keeps_max;
    int32_t passed; /* by the last stage */
} stage_t;

static parcel_t next_parcel(stage_t* stage) {
    parcel_t parcel = {end_of_numbers, 0};
    if (stage->in == ACP_CH_NULL) {
        if (stage->next < limit) parcel.number = stage->next++;
    } else if (acp_recv_ch(stage->in, &parcel, sizeof parcel) != sizeof parcel) {
        acp_abort("prime_pipeline: cannot receive");
    }
    return parcel;
}

static void pass_on(stage_t* stage, parcel_t parcel) {
    if (stage->out == ACP_CH_NULL) {
        ++stage->passed;
    } else if (acp_send_ch(stage->out, &parcel, sizeof parcel) != 0) {
        acp_abort("prime_pipeline: cannot send");
    }
}

static int is_multiple(const stage_t* stage, int32_t number) {
    for (int i = 0; i < stage->kept; ++i) {
        if (number % stage->primes[i] == 0) return 1;
    }
    return 0;
}

/* Returns how many primes this stage and those before it have found; the last one counts what passed it too. */
static int32_t run(stage_t* stage) {
    parcel_t parcel = next_parcel(stage);
    for (; parcel.number != end_of_numbers; parcel = next_parcel(stage)) {
        if (is_multiple(stage, parcel.number)) continue;
        if (stage->kept < stage->keeps_max) {
            stage->primes[stage->kept++] = parcel.number;
        } else {
            pass_on(stage, parcel);
        }
    }
    parcel.primes += stage->kept;
    if (stage->out != ACP_CH_NULL) pass_on(stage, parcel);
    return parcel.primes + stage->passed;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "prime_pipeline: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const int rank = acp_rank(), procs = acp_procs();
    const int is_first = rank == 0, is_last = rank == procs - 1;
    stage_t stage = {.next = 2, .keeps_max = to_keep * (rank + 1) / procs - to_keep * rank / procs};
    if (!is_first) stage.in = acp_create_ch(rank - 1, rank);
    if (!is_last) stage.out = acp_create_ch(rank, rank + 1);
    if ((!is_first && stage.in == ACP_CH_NULL) || (!is_last && stage.out == ACP_CH_NULL)) {
        acp_abort("prime_pipeline: cannot make a channel");
    }

    const int32_t primes = run(&stage);
    if (is_last)
        printf("the pipeline of %d ranks found %d primes below %d\n", procs, primes, limit);

    /* acp_free_ch waits until the next stage frees its end too; the last one has nobody to wait for. */
    if (!is_last && acp_free_ch(stage.out) != 0) acp_abort("prime_pipeline");
    if (!is_first && acp_free_ch(stage.in) != 0) acp_abort("prime_pipeline");
    if (acp_finalize() != 0) acp_abort("prime_pipeline");
    return is_last && primes != primes_below_limit ? EXIT_FAILURE : EXIT_SUCCESS;
}
