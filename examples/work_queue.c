/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of work: rank 0 has pieces of work of very different size and gives one to each worker that asks, with channels for questions
 * and answers. So a slow worker does less, and all end at about the same time. The work: which number below a million takes the most
 * steps to reach 1, when an even number is halved and of an odd one the triple plus 1 is taken?
 *
 *   acprun -n 4 ./work_queue
 *
 * prints
 *
 *   837799 takes 524 steps; 100 pieces of work were done by 3 workers
 *
 * 2 ranks or more. Exits with 1 when the answer is another one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { master = 0, numbers = 1000000, pieces = 100, per_piece = numbers / pieces };

/* What a worker says when it wants work: the best number of all that it has looked at. */
typedef struct {
    int64_t number;
    int64_t steps;
} best_t;

static int64_t steps_of(int64_t number) {
    int64_t steps = 0;
    for (; number != 1; ++steps) number = number % 2 == 0 ? number / 2 : 3 * number + 1;
    return steps;
}

static best_t better(best_t one, best_t other) {
    return other.steps > one.steps ? other : one;
}

/* Asks for work until there is none. */
static void work(acp_ch_t questions, acp_ch_t answers) {
    best_t best = {1, 0};
    for (;;) {
        int64_t first = 0; /* of a piece; below 0: there are no more */
        if (acp_send_ch(questions, &best, sizeof best) != 0) acp_abort("work_queue: cannot ask");
        if (acp_recv_ch(answers, &first, sizeof first) != sizeof first)
            acp_abort("work_queue: no answer");
        if (first < 0) return;
        for (int64_t number = first < 1 ? 1 : first; number < first + per_piece; ++number) {
            const best_t seen = {number, steps_of(number)};
            best = better(best, seen);
        }
    }
}

/* What the master keeps of a worker. */
typedef struct {
    acp_ch_t questions;
    acp_ch_t answers;
    acp_request_t question; /* the one that is awaited */
    best_t best;
    int is_at_work;
} worker_t;

static void await_question(worker_t* worker) {
    worker->question = acp_nbrecv_ch(worker->questions, &worker->best, sizeof worker->best);
    if (worker->question == ACP_REQUEST_NULL) acp_abort("work_queue: cannot receive");
}

static best_t hand_out(worker_t* workers, int count) {
    best_t best = {1, 0};
    int64_t next = 0;
    for (int i = 0; i < count; ++i) await_question(&workers[i]);
    for (int at_work = count; at_work > 0;) {
        for (int i = 0; i < count; ++i) {
            worker_t* const worker = &workers[i];
            /* A short wait for each in turn: nobody waits long, and the master lets others have the processor. */
            if (!worker->is_at_work) continue;
            const int code = acp_wait_ch_timeout(worker->question, NULL, 20000);
            if (code == ACP_ERR_TIMEOUT) continue;
            if (code != ACP_OK) acp_abort("work_queue: a worker is lost");
            best = better(best, worker->best);
            const int64_t first = next < numbers ? next : -1;
            if (acp_send_ch(worker->answers, &first, sizeof first) != 0)
                acp_abort("work_queue: cannot answer");
            next += per_piece;
            worker->is_at_work = first >= 0;
            if (worker->is_at_work) await_question(worker);
            at_work -= !worker->is_at_work;
        }
    }
    return best;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "work_queue: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const int rank = acp_rank(), workers = acp_procs() - 1;
    if (workers < 1) {
        fprintf(stderr, "work_queue: needs 2 ranks, has 1: acprun -n 2 %s\n", argv[0]);
        acp_finalize();
        return EXIT_FAILURE;
    }
    int is_right = 1;
    if (rank != master) {
        const acp_ch_t questions = acp_create_ch(rank, master),
                       answers = acp_create_ch(master, rank);
        work(questions, answers);
        if (acp_free_ch(questions) != 0 || acp_free_ch(answers) != 0) acp_abort("work_queue");
    } else {
        worker_t* const all = calloc((size_t)workers, sizeof *all);
        if (all == NULL) acp_abort("work_queue: no memory");
        for (int i = 0; i < workers; ++i) {
            all[i].questions = acp_create_ch(i + 1, master);
            all[i].answers = acp_create_ch(master, i + 1);
            all[i].is_at_work = 1;
        }
        const best_t best = hand_out(all, workers);
        printf("%lld takes %lld steps; %d pieces of work were done by %d workers\n",
               (long long)best.number, (long long)best.steps, pieces, workers);
        is_right = best.number == 837799 && best.steps == 524;
        for (int i = 0; i < workers; ++i) {
            if (acp_free_ch(all[i].questions) != 0 || acp_free_ch(all[i].answers) != 0)
                acp_abort("work_queue");
        }
        free(all);
    }
    if (acp_finalize() != 0) acp_abort("work_queue");
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
