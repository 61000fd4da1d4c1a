/* SPDX-License-Identifier: BSD-3-Clause */
/* As ACP 3.0's programs do it: two channels, one for each direction, and messages of growing length that come back. */
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

#define LONGEST (1 << 20)

int main(int argc, char** argv) {
    acp_ch_t to_other, from_other;
    acp_request_t req;
    unsigned char* buffer = malloc(LONGEST);
    size_t size, got;
    int rank, other, wrong = 0;

    acp_init(&argc, &argv);
    rank = acp_rank();
    other = 1 - rank;
    if (rank < 2) {
        to_other = acp_create_ch(rank, other);
        from_other = acp_create_ch(other, rank);
        for (size = 1; size <= LONGEST; size *= 2) {
            if (rank == 0) {
                for (size_t i = 0; i < size; i++) buffer[i] = (unsigned char)(i * 3 + size);
                req = acp_nbsend_ch(to_other, buffer, size);
                acp_wait_ch(req);
            }
            req = acp_nbrecv_ch(from_other, buffer, size);
            got = acp_wait_ch(req);
            wrong += got != size;
            for (size_t i = 0; i < size; i++)
                wrong += buffer[i] != (unsigned char)(i * 3 + size + (rank == 0));
            if (rank == 1) {
                for (size_t i = 0; i < size; i++) buffer[i]++;
                req = acp_nbsend_ch(to_other, buffer, size);
                acp_wait_ch(req);
            }
        }
        /* acp_free_ch waits for the other end to be freed too: both ranks free the same channel first. */
        acp_free_ch(rank == 0 ? to_other : from_other);
        acp_free_ch(rank == 0 ? from_other : to_other);
        printf("rank %d: %d wrong\n", rank, wrong);
    }
    free(buffer);
    acp_finalize();
    return 0;
}
