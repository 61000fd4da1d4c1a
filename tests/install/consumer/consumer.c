/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest program that needs headers, library and a job: copies a word through global memory and says
 * so. Valid C and C++. One thread. */
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    acp_ga_t source = acp_query_starter_ga(acp_rank());
    int* words = (int*)acp_query_address(source);
    words[0] = 42;
    acp_complete(acp_copy(source + 64, source, sizeof(int), ACP_HANDLE_NULL));
    printf("rank %d of %d: copied %d with ACP %s\n", acp_rank(), acp_procs(), words[16],
           acp_version());
    return acp_finalize() == 0 ? 0 : 1;
}
