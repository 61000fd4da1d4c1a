/* SPDX-License-Identifier: BSD-3-Clause */
/* As ACP 3.0's programs do it: a message that is shorter than its buffer leaves the rest as it was, and of one that is longer the end is
 * lost; also of none and of some MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

static const size_t sent[] = {10, 100, 0, 5, 3000000, 20000};
static const size_t room[] = {100, 10, 50, 5, 3000000, 5000};

#define COUNT ((int)(sizeof(sent) / sizeof(sent[0])))
#define LONGEST 3000000

int main(int argc, char** argv) {
    char* buffer = malloc(LONGEST);
    acp_request_t req;
    acp_ch_t ch;
    size_t got, expected, k;
    int rank, i, is_right;

    acp_init(&argc, &argv);
    rank = acp_rank();
    if (rank < 2) {
        ch = acp_create_ch(0, 1);
        for (i = 0; i < COUNT; i++) {
            memset(buffer, rank == 0 ? 'a' + i : '-', LONGEST);
            req =
                rank == 0 ? acp_nbsend_ch(ch, buffer, sent[i]) : acp_nbrecv_ch(ch, buffer, room[i]);
            got = acp_wait_ch(req);
            if (rank == 0) continue;
            expected = sent[i] < room[i] ? sent[i] : room[i];
            is_right = got == expected;
            for (k = 0; k < room[i]; k++)
                is_right = is_right && buffer[k] == (k < expected ? 'a' + i : '-');
            printf("%d of %d bytes: %s\n", (int)got, (int)sent[i], is_right ? "right" : "wrong");
        }
        acp_free_ch(ch);
    }
    free(buffer);
    acp_finalize();
    return 0;
}
