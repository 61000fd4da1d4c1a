/* SPDX-License-Identifier: BSD-3-Clause */
/* As ACP 3.0's programs do it: rank 0 sends a text to rank 1, and both free the channel. */
#include <stdio.h>
#include <string.h>

#include <acp.h>

int main(int argc, char** argv) {
    char text[64] = "nothing";
    size_t size = 0;
    acp_ch_t ch;
    acp_request_t req;
    int rank;

    acp_init(&argc, &argv);
    rank = acp_rank();
    if (rank < 2) {
        ch = acp_create_ch(0, 1);
        if (ch == NULL) return 1;
        if (rank == 0) {
            strcpy(text, "a text");
            req = acp_nbsend_ch(ch, text, strlen(text) + 1);
        } else {
            req = acp_nbrecv_ch(ch, text, sizeof(text));
        }
        if (req == NULL) return 1;
        size = acp_wait_ch(req);
        if (rank == 1) printf("received %d bytes: %s\n", (int)size, text);
        if (rank == 0 && size != 0) printf("a send has no size\n");
        req = acp_nbfree_ch(ch);
        acp_wait_ch(req);
    }
    acp_finalize();
    return 0;
}
