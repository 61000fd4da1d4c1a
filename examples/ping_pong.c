/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ping-pong: rank 0 sends a message to rank 1 by one channel and gets it back by another one, a thousand times for each length.
 *
 *   acprun -n 2 ./ping_pong
 *
 * prints how long a message is on its way, for example
 *
 *          8 bytes      0.15 us
 *       1024 bytes      0.41 us
 *     131072 bytes     15.20 us
 *
 * 2 ranks or more; those from rank 2 on do nothing. Exits with 1 when a message came back changed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <acp.h>

enum { pinger = 0, ponger = 1, rounds = 1000, bytes_max = 131072 };

static char ball[bytes_max];

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void send_ball(acp_ch_t channel, size_t bytes) {
    if (acp_send_ch(channel, ball, bytes) != 0) acp_abort("ping_pong: cannot send");
}

static void receive_ball(acp_ch_t channel, size_t bytes) {
    if (acp_recv_ch(channel, ball, bytes) != bytes) acp_abort("ping_pong: cannot receive");
}

/* On rank 0. Returns how many rounds brought another ball back than the one that was sent. */
static int ping(acp_ch_t out, acp_ch_t in, size_t bytes) {
    int wrong = 0;
    const double start_us = now_us();
    for (int round = 0; round < rounds; ++round) {
        ball[0] = (char)round;
        send_ball(out, bytes);
        receive_ball(in, bytes);
        wrong += ball[0] != (char)(round + 1); /* rank 1 marks each ball */
    }
    printf("%7zu bytes %9.2f us\n", bytes, (now_us() - start_us) / (2 * rounds));
    return wrong;
}

/* On rank 1. */
static void pong(acp_ch_t out, acp_ch_t in, size_t bytes) {
    for (int round = 0; round < rounds; ++round) {
        receive_ball(in, bytes);
        ++ball[0];
        send_ball(out, bytes);
    }
}

static int play(int rank) {
    const int other = rank == pinger ? ponger : pinger;
    const acp_ch_t out = acp_create_ch(rank, other);
    const acp_ch_t in = acp_create_ch(other, rank);
    if (out == ACP_CH_NULL || in == ACP_CH_NULL) acp_abort("ping_pong: cannot make a channel");
    int wrong = 0;
    for (size_t bytes = 8; bytes <= bytes_max; bytes *= 128) {
        if (rank == pinger) wrong += ping(out, in, bytes);
        if (rank == ponger) pong(out, in, bytes);
    }
    /* An end is freed when the other one is being freed too, so neither rank waits for one after the other. */
    acp_request_t frees[] = {acp_nbfree_ch(out), acp_nbfree_ch(in)};
    if (acp_waitall_ch(frees, 2, NULL) != 0) acp_abort("ping_pong: cannot free the channels");
    return wrong;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "ping_pong: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const int rank = acp_rank();
    if (acp_procs() < 2) {
        fprintf(stderr, "ping_pong: needs 2 ranks, has 1: acprun -n 2 %s\n", argv[0]);
        acp_finalize();
        return EXIT_FAILURE;
    }
    const int wrong = rank <= ponger ? play(rank) : 0;
    if (wrong != 0) printf("%d messages came back changed\n", wrong);
    if (acp_finalize() != 0) acp_abort("ping_pong");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
