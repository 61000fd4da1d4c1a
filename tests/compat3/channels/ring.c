/* SPDX-License-Identifier: BSD-3-Clause */
/* As ACP 3.0's programs do it: each rank passes on what its left neighbour gives it, until it has seen the number of every rank. */
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
    acp_ch_t right, left;
    acp_request_t sending, receiving;
    int rank, procs, number, next, sum = 0, step;

    acp_init(&argc, &argv);
    rank = acp_rank();
    procs = acp_procs();
    right = acp_create_ch(rank, (rank + 1) % procs);
    left = acp_create_ch((rank + procs - 1) % procs, rank);
    number = rank + 1;
    for (step = 0; step < procs; step++) {
        sending = acp_nbsend_ch(right, &number, sizeof(number));
        receiving = acp_nbrecv_ch(left, &next, sizeof(next));
        acp_wait_ch(sending);
        acp_wait_ch(receiving);
        sum += next;
        number = next;
    }
    printf("rank %d: sum %d, own number %d\n", rank, sum, number);
    sending = acp_nbfree_ch(right);
    receiving = acp_nbfree_ch(left);
    acp_wait_ch(sending);
    acp_wait_ch(receiving);
    acp_finalize();
    return 0;
}
