/* SPDX-License-Identifier: BSD-3-Clause */
/* As ACP 3.0's programs do it: several channels between the same two ranks belong together in the order made. Their requests are waited for
 * in another order than they were begun, and the channels are freed in yet another one. */
#include <stdio.h>

#include <acp.h>

#define CHANNELS 5
#define MESSAGES 8 /* the most requests of one channel in 3.0 */

int main(int argc, char** argv) {
    acp_ch_t ch[CHANNELS];
    acp_request_t req[CHANNELS][MESSAGES];
    acp_request_t gone[CHANNELS];
    int data[CHANNELS][MESSAGES];
    int rank, i, k, right = 0;

    acp_init(&argc, &argv);
    rank = acp_rank();
    if (rank < 2) {
        for (i = 0; i < CHANNELS; i++) ch[i] = acp_create_ch(1, 0);
        for (i = 0; i < CHANNELS; i++) {
            for (k = 0; k < MESSAGES; k++) {
                data[i][k] = rank == 1 ? 100 * i + k : -1;
                req[i][k] = rank == 1 ? acp_nbsend_ch(ch[i], &data[i][k], sizeof(int))
                                      : acp_nbrecv_ch(ch[i], &data[i][k], sizeof(int));
                if (req[i][k] == NULL) printf("rank %d: no request\n", rank);
            }
        }
        for (i = CHANNELS - 1; i >= 0; i--) {
            for (k = MESSAGES - 1; k >= 0; k--) {
                acp_wait_ch(req[i][k]);
                right += data[i][k] == 100 * i + k;
            }
        }
        for (i = 0; i < CHANNELS; i++) gone[i] = acp_nbfree_ch(ch[(2 * i + rank) % CHANNELS]);
        for (i = 0; i < CHANNELS; i++) acp_wait_ch(gone[i]);
        printf("rank %d: %d right\n", rank, right);
    }
    acp_finalize();
    return 0;
}
