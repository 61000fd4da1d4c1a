/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Successive over-relaxation in shared pages: red points and black points of one grid are changed in turn, each from its four
 * neighbours, which have the other colour. Each rank has some rows. A row is not a whole number of pages, so the page in which
 * the rows of two ranks meet has both as writers: the library sends the bytes that each one wrote.
 *
 *   acprun -n 3 ./red_black
 *
 * prints
 *
 *   3 ranks: after 200 sweeps the mean of 100 x 100 points is 0.160, and each bit is as one process computes it
 *
 * 1 to 98 ranks. Exits with 1 when a bit differs from that of one process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

enum { side = 100, sweeps = 200 };

static void must(int holds, const char* complaint) {
    if (!holds) acp_abort(complaint);
}

/* The points of one colour in rows first to last - 1. */
static void relax(double (*grid)[side], int first, int last, int colour) {
    for (int y = first; y < last; ++y) {
        for (int x = 1 + (y + colour) % 2; x < side - 1; x += 2) {
            const double mean =
                (grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]) / 4;
            grid[y][x] += 1.5 * (mean - grid[y][x]);
        }
    }
}

static void heat_edge(double (*grid)[side]) {
    for (int x = 0; x < side; ++x) grid[0][x] = 1;
}

/* Whether the grid has the bits that one process computes on private memory. */
static int is_right(double (*grid)[side]) {
    static double own[side][side];
    heat_edge(own);
    for (int i = 0; i < 2 * sweeps; ++i) relax(own, 1, side - 1, i % 2);
    return memcmp(own, grid, sizeof own) == 0;
}

static double mean_of(double (*grid)[side]) {
    double sum = 0;
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) sum += grid[y][x];
    }
    return sum / (side * side);
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "red_black: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const int rank = acp_rank(), procs = acp_procs(), inner = side - 2;
    must(procs <= inner, "red_black: more ranks than rows");
    const int first = 1 + inner * rank / procs, last = 1 + inner * (rank + 1) / procs;

    must(acp_init_dsm(side * side * sizeof(double)) == 0, "red_black: no shared pages");
    double(*grid)[side] = acp_alloc_dsm(side * side * sizeof(double)); /* all zero */
    must(grid != NULL, "red_black: no shared memory");
    if (rank == 0) heat_edge(grid);
    must(acp_barrier_dsm() == 0, "red_black: a rank is lost");
    for (int i = 0; i < 2 * sweeps; ++i) {
        relax(grid, first, last, i % 2);
        must(acp_barrier_dsm() == 0, "red_black: a rank is lost");
    }
    int has_right_bits = is_right(grid); /* each rank reads all rows */
    must(acp_allreduce_team(acp_world_team(), &has_right_bits, &has_right_bits, 1, ACP_INT32,
                            ACP_MIN) == 0,
         "red_black: a rank is lost");
    if (rank == 0) {
        printf("%d ranks: after %d sweeps the mean of %d x %d points is %.3f, and each bit is %s\n",
               procs, sweeps, side, side, mean_of(grid),
               has_right_bits ? "as one process computes it" : "WRONG");
    }
    must(acp_finalize_dsm() == 0, "red_black");
    must(acp_finalize() == 0, "red_black");
    return has_right_bits ? EXIT_SUCCESS : EXIT_FAILURE;
}
