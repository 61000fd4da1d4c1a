/* SPDX-License-Identifier: BSD-3-Clause */
/* A job to look at from outside: every rank puts into every other, all say "ready". When rank 0
 * reads a line it issues as many puts to the last rank as the line says, says "issued", waits for
 * them and says "ended"; at the end of its input the job ends. */
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

static acp_handle_t put_to(int rank) {
    return acp_copy(acp_query_starter_ga(rank), acp_query_starter_ga(acp_rank()), 64,
                    ACP_HANDLE_NULL);
}

static void say(const char* word) {
    printf("%s\n", word);
    fflush(stdout);
}

int main(int argc, char** argv) {
    char line[64];
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    for (int rank = 0; rank < acp_procs(); ++rank) {
        if (rank != acp_rank()) acp_complete(put_to(rank));
    }
    if (acp_sync() != 0) return 1;
    say("ready");
    while (acp_rank() == 0 && fgets(line, sizeof line, stdin) != NULL) {
        acp_handle_t last = ACP_HANDLE_NULL;
        for (int left = atoi(line); left > 0; --left) last = put_to(acp_procs() - 1);
        say("issued");
        acp_complete(last);
        say("ended");
    }
    return acp_sync() == 0 && acp_finalize() == 0 ? 0 : 1;
}
