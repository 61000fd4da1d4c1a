/* SPDX-License-Identifier: BSD-3-Clause */
/* Segmented buffers as ACP 3.0's programs use them: each rank is the source for its right neighbour
 * and the destination for its left one. Failures are returned as 1, as 3.0's documentation says, or
 * as -1 where it says so. */
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

#define SEGMENTS 4
#define ROUNDS 50

int main(int argc, char** argv) {
    static int out[SEGMENTS][100], in[SEGMENTS][100];
    acp_segbuf_t src, dst;
    int rank, procs, left, i, right = 0;
    int64_t place;

    acp_init(&argc, &argv);
    rank = acp_rank();
    procs = acp_procs();
    left = (rank + procs - 1) % procs;
    src = acp_create_src_segbuf((rank + 1) % procs, out, sizeof(out[0]), SEGMENTS);
    dst = acp_create_dst_segbuf(left, in, sizeof(in[0]), SEGMENTS);
    if (src == NULL || dst == NULL) return 1;
    if (acp_free_segbuf(src) != 1) printf("freed although not disconnected\n");
    if (acp_connect_segbuf(src) == 1 || acp_connect_segbuf(dst) == 1) return 1;
    if (acp_isconnected_segbuf(src) != 0) printf("not connected\n");
    for (i = 0; i < ROUNDS; i++) {
        while (acp_isready_segbuf(src)) continue;
        place = acp_query_segbuf_tail(src);
        out[place][0] = rank;
        out[place][99] = i;
        if (acp_ack_segbuf(src) != 0) printf("not sent\n");
        while (acp_isacked_segbuf(dst)) continue;
        place = acp_query_segbuf_head(dst);
        right += in[place][0] == left && in[place][99] == i;
        if (acp_ready_segbuf(dst) != 0) printf("not given back\n");
    }
    /* The other rank may have disconnected; it fails in any case. */
    if (acp_ready_segbuf(dst) != 1) printf("given back once more\n");
    if (acp_query_segbuf_sent(dst) != -1) printf("a destination has sent\n");
    acp_disconnect_segbuf(src);
    acp_disconnect_segbuf(dst);
    if (acp_disconnect_segbuf(dst) != 1) printf("disconnected twice\n");
    if (acp_free_segbuf(src) != 0 || acp_free_segbuf(dst) != 0) printf("not freed\n");
    printf("rank %d: %d right\n", rank, right);
    acp_finalize();
    return 0;
}
