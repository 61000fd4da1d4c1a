/* SPDX-License-Identifier: BSD-3-Clause */
/* As ACP 3.0's programs do it: a channel from every rank to every other one, requests begun as long as there is room for more, and channels
 * freed without waiting in between. */
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

#define MESSAGES 100
#define WINDOW 4

static acp_ch_t* channels_of(int rank, int procs, int is_sender) {
    acp_ch_t* channels = calloc((size_t)procs, sizeof(acp_ch_t));
    int other;
    for (other = 0; other < procs; other++) {
        if (other == rank) continue;
        channels[other] = is_sender ? acp_create_ch(rank, other) : acp_create_ch(other, rank);
    }
    return channels;
}

int main(int argc, char** argv) {
    acp_ch_t *out, *in;
    acp_request_t sends[WINDOW], receives[WINDOW], frees[2];
    int sent[WINDOW], got[WINDOW];
    int rank, procs, shift, i, k, right = 0;

    acp_init(&argc, &argv);
    rank = acp_rank();
    procs = acp_procs();
    out = channels_of(rank, procs, 1);
    in = channels_of(rank, procs, 0);
    for (shift = 1; shift < procs; shift++) {
        const int to = (rank + shift) % procs, from = (rank + procs - shift) % procs;
        for (i = 0; i < MESSAGES; i += WINDOW) {
            for (k = 0; k < WINDOW; k++) {
                sent[k] = 1000 * rank + i + k;
                sends[k] = acp_nbsend_ch(out[to], &sent[k], sizeof(int));
                receives[k] = acp_nbrecv_ch(in[from], &got[k], sizeof(int));
            }
            for (k = 0; k < WINDOW; k++) {
                acp_wait_ch(sends[k]);
                if (acp_wait_ch(receives[k]) == sizeof(int)) right += got[k] == 1000 * from + i + k;
            }
        }
    }
    for (shift = 1; shift < procs; shift++) {
        frees[0] = acp_nbfree_ch(out[(rank + shift) % procs]);
        frees[1] = acp_nbfree_ch(in[(rank + procs - shift) % procs]);
        for (k = 0; k < 2; k++) acp_wait_ch(frees[k]);
    }
    printf("rank %d: %d right\n", rank, right);
    free(out);
    free(in);
    acp_finalize();
    return 0;
}
