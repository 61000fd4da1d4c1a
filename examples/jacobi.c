/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a plate, by Jacobi's method: each point becomes the mean of its four neighbours, again and again, until no point changes by much.
 * The rows of the plate are divided among the ranks. Before each sweep neighbours exchange the rows at their common border through
 * channels, and after it all learn by a collective call the largest change of any point.
 *
 *   acprun -n 4 ./jacobi
 *
 * prints
 *
 *   4 ranks needed 1627 sweeps over 42 x 42 points; the plate is that of a single rank
 *
 * 1 to 40 ranks. Exits with 1 when the result is not, bit by bit, what one rank alone computes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

enum { side = 42, inner = side - 2 };

static const double tolerance = 1e-3;

typedef struct {
    double at[side];
} row_t;

static void must(int holds, const char* complaint) {
    if (!holds) acp_abort(complaint);
}

/* Some rows of the plate, with the ones above and below them. */
typedef struct {
    row_t* now;
    row_t* next;
    int rows;
} strip_t;

/* The edges of the plate keep their heat: 100 above, 0 at the other sides.   is_top: the row above is the plate's edge */
static strip_t make_strip(int rows, int is_top) {
    strip_t strip = {calloc((size_t)rows + 2, sizeof(row_t)),
                     calloc((size_t)rows + 2, sizeof(row_t)), rows};
    must(strip.now != NULL && strip.next != NULL, "jacobi: no memory");
    for (int x = 0; is_top && x < side; ++x) strip.now[0].at[x] = strip.next[0].at[x] = 100;
    return strip;
}

/* Returns the largest change. */
static double sweep(strip_t* strip) {
    double change = 0;
    for (int y = 1; y <= strip->rows; ++y) {
        for (int x = 1; x < side - 1; ++x) {
            const row_t* const row = &strip->now[y];
            const double old = row->at[x];
            const double mean =
                (row[-1].at[x] + row[1].at[x] + row->at[x - 1] + row->at[x + 1]) / 4;
            const double moved = mean < old ? old - mean : mean - old;
            if (moved > change) change = moved;
            strip->next[y].at[x] = mean;
        }
    }
    row_t* const before = strip->now;
    strip->now = strip->next;
    strip->next = before;
    return change;
}

/* The channels to and from one neighbour; ACP_CH_NULL where there is none. */
typedef struct {
    acp_ch_t out;
    acp_ch_t in;
} border_t;

static border_t meet(int neighbour) {
    border_t border = {ACP_CH_NULL, ACP_CH_NULL};
    if (neighbour < 0 || neighbour >= acp_procs()) return border;
    border.out = acp_create_ch(acp_rank(), neighbour);
    border.in = acp_create_ch(neighbour, acp_rank());
    must(border.out != ACP_CH_NULL && border.in != ACP_CH_NULL, "jacobi: no channel");
    return border;
}

/* Begins to exchange rows at one border: 2 requests, none where there is no neighbour. */
static void begin_exchange(border_t border, row_t* own, row_t* theirs, acp_request_t* requests) {
    requests[0] = requests[1] = ACP_REQUEST_NULL;
    if (border.out == ACP_CH_NULL) return;
    requests[0] = acp_nbsend_ch(border.out, own, sizeof(row_t));
    requests[1] = acp_nbrecv_ch(border.in, theirs, sizeof(row_t));
    must(requests[0] != ACP_REQUEST_NULL && requests[1] != ACP_REQUEST_NULL, "jacobi: no request");
}

static void exchange(border_t above, border_t below, strip_t* strip) {
    acp_request_t requests[4];
    begin_exchange(above, &strip->now[1], &strip->now[0], &requests[0]);
    begin_exchange(below, &strip->now[strip->rows], &strip->now[strip->rows + 1], &requests[2]);
    must(acp_waitall_ch(requests, 4, NULL) == 0, "jacobi: a neighbour is lost");
}

/* Returns how many sweeps were needed. */
static int solve(strip_t* strip) {
    const border_t above = meet(acp_rank() - 1), below = meet(acp_rank() + 1);
    int sweeps = 0;
    for (double change = tolerance; change >= tolerance; ++sweeps) {
        exchange(above, below, strip);
        change = sweep(strip);
        must(acp_allreduce_team(acp_world_team(), &change, &change, 1, ACP_DOUBLE, ACP_MAX) == 0,
             "jacobi: a rank is lost");
    }
    const acp_ch_t ends[] = {above.out, above.in, below.out, below.in};
    acp_request_t frees[4];
    for (int i = 0; i < 4; ++i)
        frees[i] = ends[i] == ACP_CH_NULL ? ACP_REQUEST_NULL : acp_nbfree_ch(ends[i]);
    must(acp_waitall_ch(frees, 4, NULL) == 0, "jacobi: a neighbour is lost");
    return sweeps;
}

/* Whether this rank's rows are those that one rank alone computes, in as many sweeps. */
static int is_as_of_one_rank(const strip_t* strip, int first, int sweeps) {
    strip_t plate = make_strip(inner, 1);
    for (int i = 0; i < sweeps; ++i) (void)sweep(&plate);
    const int is_same =
        memcmp(&strip->now[1], &plate.now[first + 1], (size_t)strip->rows * sizeof(row_t)) == 0;
    free(plate.now);
    free(plate.next);
    return is_same;
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "jacobi: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const int rank = acp_rank(), procs = acp_procs();
    must(procs <= inner, "jacobi: more ranks than rows");
    const int first = inner * rank / procs, end = inner * (rank + 1) / procs;
    strip_t strip = make_strip(end - first, rank == 0);
    const int sweeps = solve(&strip);
    int is_right = is_as_of_one_rank(&strip, first, sweeps);
    must(acp_allreduce_team(acp_world_team(), &is_right, &is_right, 1, ACP_INT32, ACP_MIN) == 0,
         "jacobi: a rank is lost");
    if (rank == 0) {
        printf("%d ranks needed %d sweeps over %d x %d points; the plate is %s\n", procs, sweeps,
               side, side, is_right ? "that of a single rank" : "WRONG");
    }
    free(strip.now);
    free(strip.next);
    must(acp_finalize() == 0, "jacobi");
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
