/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Laplace's equation on a square whose upper edge is hot, in shared pages: all ranks read and write the same two arrays by plain
 * pointers, and a barrier ends each step. Nothing is sent. The ranks divide the rows, and none asks where a row lies.
 *
 *   acprun -n 2 ./laplace
 *
 * prints
 *
 *   2 ranks: 50 steps of 2048 x 2048 points took 0.07 s, and each bit is as one process computes it
 *
 * usage: laplace [-n POINTS] [-s STEPS]
 * Exits with 1 when a bit differs from that of one process, with 2 for a wrong command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <acp.h>

static void must(int holds, const char* complaint) {
    if (!holds) acp_abort(complaint);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Rows first to last - 1 of the next step. A row has `width` points, of which the outer ones stay as they are. */
static void compute(const double* from, double* to, size_t width, size_t first, size_t last) {
    for (size_t y = first; y < last; ++y) {
        const double* const row = from + y * width;
        for (size_t x = 1; x + 1 < width; ++x)
            to[y * width + x] = 0.25 * (row[x - 1] + row[x + 1] + row[x - width] + row[x + width]);
    }
}

static void heat_edge(double* array, size_t width) {
    for (size_t x = 0; x < width; ++x) array[x] = 1.0 + (double)(x % 7) / 7;
}

/* Whether this rank's rows have the bits that one process computes on private memory. */
static int is_right(const double* result, size_t width, int steps, size_t first, size_t last) {
    double* from = calloc(width * width, sizeof(double));
    double* to = calloc(width * width, sizeof(double));
    must(from != NULL && to != NULL, "laplace: no memory for the check");
    heat_edge(from, width);
    heat_edge(to, width);
    for (int i = 0; i < steps; ++i) {
        compute(from, to, width, 1, width - 1);
        double* const other = from;
        from = to;
        to = other;
    }
    const int is_same = memcmp(from + first * width, result + first * width,
                               (last - first) * width * sizeof(double)) == 0;
    free(from);
    free(to);
    return is_same;
}

/* Returns whether there is such a problem. */
static int read_arguments(int argc, char** argv, int* points, int* steps) {
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return 0;
        if (strcmp(argv[i], "-n") == 0) {
            *points = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "-s") == 0) {
            *steps = atoi(argv[i + 1]);
        } else {
            return 0;
        }
    }
    return *points >= 3 && *points <= 32768 && *steps >= 0;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "laplace: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    int points = 2048, steps = 50;
    if (!read_arguments(argc, argv, &points, &steps)) {
        if (acp_rank() == 0)
            fprintf(stderr, "usage: laplace [-n POINTS] [-s STEPS]\nPOINTS is 3 to 32768\n");
        acp_finalize();
        return 2;
    }
    const size_t width = (size_t)points, bytes = width * width * sizeof(double);
    const size_t rank = (size_t)acp_rank(), ranks = (size_t)acp_procs(), inner = width - 2;
    const size_t first = 1 + inner * rank / ranks, last = 1 + inner * (rank + 1) / ranks;

    /* Whole pages are allocated: two arrays take up to a page more each. */
    must(acp_init_dsm(2 * (bytes + 4096)) == 0, "laplace: no shared pages");
    double* from = acp_alloc_dsm(bytes);
    double* to = acp_alloc_dsm(bytes);
    must(from != NULL && to != NULL, "laplace: no shared memory");
    if (rank == 0) {
        heat_edge(from, width);
        heat_edge(to, width);
    }
    /* Each rank touches its own rows first, so that the time has no page faults in it. */
    memset(from + first * width, 0, (last - first) * width * sizeof(double));
    memset(to + first * width, 0, (last - first) * width * sizeof(double));
    must(acp_barrier_dsm() == 0, "laplace: a rank is lost");

    const double began = now_s();
    for (int i = 0; i < steps; ++i) {
        compute(from, to, width, first, last);
        must(acp_barrier_dsm() == 0, "laplace: a rank is lost");
        double* const other = from;
        from = to;
        to = other;
    }
    const double took = now_s() - began;

    int has_right_bits = is_right(from, width, steps, first, last);
    must(acp_allreduce_team(acp_world_team(), &has_right_bits, &has_right_bits, 1, ACP_INT32,
                            ACP_MIN) == 0,
         "laplace: a rank is lost");
    if (rank == 0) {
        printf("%zu ranks: %d steps of %zu x %zu points took %.2f s, and each bit is %s\n", ranks,
               steps, width, width, took, has_right_bits ? "as one process computes it" : "WRONG");
    }
    must(acp_finalize_dsm() == 0, "laplace");
    must(acp_finalize() == 0, "laplace");
    return has_right_bits ? EXIT_SUCCESS : EXIT_FAILURE;
}
