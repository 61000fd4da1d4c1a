/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hello: rank 0 reads a line out of every rank's starter memory and prints it.
 * The first steps: join the job, write memory that every rank can reach, copy from it.
 *
 *   acprun -n 4 ./hello
 *
 * prints, in the order of the ranks,
 *
 *   hello from rank 0 of 4
 *   hello from rank 1 of 4
 *   ...
 *
 * Any number of ranks. Exits with 1 when a line is not what its rank wrote.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

enum { line_bytes = 64 };

/* The two lines at the start of every rank's starter memory. */
struct starter {
    char mine[line_bytes];  /* written by its owner, read by rank 0 */
    char other[line_bytes]; /* on rank 0: the line of the rank whose turn it is */
};

static void write_line(char* line, int rank) {
    snprintf(line, line_bytes, "hello from rank %d of %d", rank, acp_procs());
}

/* Fetches each rank's line, prints it and checks it. Returns the number of wrong ones. */
static int print_all_lines(struct starter* starter) {
    const acp_ga_t target = acp_query_starter_ga(0) + offsetof(struct starter, other);
    int wrong = 0;
    for (int rank = 0; rank < acp_procs(); ++rank) {
        const acp_ga_t source = acp_query_starter_ga(rank) + offsetof(struct starter, mine);
        acp_complete(acp_copy(target, source, line_bytes, ACP_HANDLE_NULL));

        char expected[line_bytes] = "";
        write_line(expected, rank);
        if (strncmp(starter->other, expected, line_bytes) != 0) {
            fprintf(stderr, "hello: rank %d wrote \"%s\", but \"%.*s\" arrived\n", rank, expected,
                    line_bytes, starter->other);
            ++wrong;
        } else {
            puts(starter->other);
        }
    }
    return wrong;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "hello: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    struct starter* starter = acp_query_address(acp_query_starter_ga(acp_rank()));
    write_line(starter->mine, acp_rank());

    /* After the barrier every line is written, and visible to whoever copies it. */
    if (acp_sync() != 0) acp_abort("hello");

    const int wrong = acp_rank() == 0 ? print_all_lines(starter) : 0;

    /* Waits for all ranks, so no line goes away while rank 0 reads. */
    if (acp_finalize() != 0) acp_abort("hello");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
