/* SPDX-License-Identifier: BSD-3-Clause */
/* A job that runs until its first rank has read a line or the end of its input; until then its
 * ranks wait for each other. One thread. */
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    acp_sync();
    if (acp_rank() == 0) {
        char line[8];
        puts("ready");
        fflush(stdout);
        (void)!fgets(line, sizeof line, stdin);
    }
    const int outcome = acp_sync();
    printf("rank %d of %d: %s\n", acp_rank(), acp_procs(), outcome == 0 ? "done" : "failed");
    return acp_finalize() == 0 ? outcome : 1;
}
