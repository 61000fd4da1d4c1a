/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark of PMv2's papers under PMv2's own names: a message goes to and fro between rank 0 and rank 1, then rank 0 writes to the memory
 * that rank 1 has locked, and reads it back. Other ranks look on.
 *
 *   acprun -n 2 ./pmv2_ping_pong
 *
 * prints
 *
 *   1000 messages went to and fro; 65536 bytes were written and read back
 *
 * Exits with 1 when something else comes back.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/compat_pmv2.h>

enum { trips = 1000, zero_copy = 65536 };

static void must(int error, const char* what) {
    if (error == 0) return;
    fprintf(stderr, "pmv2_ping_pong: %s: %s\n", what, strerror(error));
    acp_abort("pmv2_ping_pong");
}

static void send_bytes(pmContext* pmc, int node, const void* content, size_t length) {
    caddr_t buffer = NULL;
    int error = 0;
    while ((error = pmGetSendBuffer(pmc, node, &buffer, length)) == ENOBUFS) continue;
    must(error, "pmGetSendBuffer");
    memcpy(buffer, content, length);
    must(pmSend(pmc), "pmSend");
}

static void receive_bytes(pmContext* pmc, void* content, size_t length) {
    caddr_t buffer = NULL;
    size_t came = 0;
    int error = 0;
    while ((error = pmReceive(pmc, &buffer, &came)) == ENOBUFS) continue;
    must(error, "pmReceive");
    must(came == length ? 0 : EMSGSIZE, "the length of a message");
    memcpy(content, buffer, length);
    must(pmReleaseReceiveBuffer(pmc), "pmReleaseReceiveBuffer");
}

/* The number of trips that came back as they left. */
static int ping_pong(pmContext* pmc, int own) {
    int good = 0;
    for (int32_t trip = 0; trip < trips; ++trip) {
        int32_t content = trip;
        if (own == 0) send_bytes(pmc, 1, &content, sizeof content);
        receive_bytes(pmc, &content, sizeof content);
        if (own == 1) send_bytes(pmc, 0, &content, sizeof content);
        good += content == trip;
    }
    return good;
}

/* Whether what rank 0 writes to rank 1 and reads back is the same. */
static int write_and_read(pmContext* pmc, int own) {
    char* memory = calloc(2, zero_copy); /* what is written, and what is read back */
    pmAddrHandle mine = ACP_GA_NULL;
    pmAddrHandle theirs = ACP_GA_NULL;
    if (memory == NULL) must(ENOMEM, "calloc");
    must(pmMLock(pmc, PM_NODE_ANY, memory, 2 * zero_copy, &mine), "pmMLock");
    if (own == 0) memset(memory, 'w', zero_copy);
    send_bytes(pmc, 1 - own, &mine, sizeof mine);
    receive_bytes(pmc, &theirs, sizeof theirs);
    if (own == 0) {
        must(pmWrite(pmc, 1, theirs, mine, zero_copy), "pmWrite");
        while (pmIsWriteDone(pmc) == EBUSY) continue;
        must(pmRead(pmc, 1, theirs, mine + zero_copy, zero_copy), "pmRead");
        while (pmIsReadDone(pmc) == EBUSY) continue;
    }
    send_bytes(pmc, 1 - own, &mine, sizeof mine); /* "done" */
    receive_bytes(pmc, &theirs, sizeof theirs);
    const int is_same = memcmp(memory, memory + zero_copy, zero_copy) == 0;
    must(pmMUnlock(pmc, mine), "pmMUnlock");
    free(memory);
    return own == 1 || is_same;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    if (acp_procs() < 2) {
        fprintf(stderr, "pmv2_ping_pong: needs 2 ranks, has 1: acprun -n 2\n");
        acp_finalize();
        return 1;
    }
    const int own = acp_rank();
    pmContext* pmc = acp_open_pm(0);
    int is_good = 1;
    if (own < 2) {
        is_good = ping_pong(pmc, own) == trips && write_and_read(pmc, own);
        while (pmIsSendDone(pmc) == EBUSY) continue;
    }
    if (own == 0 && is_good)
        printf("%d messages went to and fro; %d bytes were written and read back\n", trips,
               zero_copy);
    acp_close_pm(pmc);
    acp_finalize();
    return is_good ? 0 : 1;
}
