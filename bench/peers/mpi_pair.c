/* SPDX-License-Identifier: BSD-3-Clause */
/* What Open MPI does between two processes, in the shapes in which `acpbench net` measures ACP: puts, gets and fetching
 * additions of 8 bytes each completed at the target, small puts in a row, a stream of long puts, and messages to and
 * fro. Rank 1 waits in a barrier, where it helps. Rank 0 prints "CASE VALUE" lines: microseconds, million operations
 * per second, MB/s.
 *   usage: mpi_pair SECONDS-PER-CASE */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    window_bytes = 16 << 20,
    stream_bytes = 1 << 20,
    stream_depth = 16,
    row_depth = 4096,
    batch = 32
};

struct state {
    MPI_Win window;
    char* own;
    double seconds;
};

typedef void (*work)(struct state* its);

static void put(struct state* its) {
    MPI_Put(its->own, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, its->window);
    MPI_Win_flush(1, its->window);
}

static void get(struct state* its) {
    MPI_Get(its->own, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, its->window);
    MPI_Win_flush(1, its->window);
}

static void add(struct state* its) {
    const int64_t one = 1;
    int64_t old = 0;
    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 1, 0, MPI_SUM, its->window);
    MPI_Win_flush(1, its->window);
}

static void row(struct state* its) {
    for (int i = 0; i < row_depth; ++i)
        MPI_Put(its->own, 8, MPI_BYTE, 1, 8 * i, 8, MPI_BYTE, its->window);
    MPI_Win_flush(1, its->window);
}

static void stream(struct state* its) {
    for (int i = 0; i < stream_depth; ++i) {
        const MPI_Aint at = (MPI_Aint)i * (window_bytes / stream_depth);
        MPI_Put(its->own + at, stream_bytes, MPI_BYTE, 1, at, stream_bytes, MPI_BYTE, its->window);
    }
    MPI_Win_flush(1, its->window);
}

static void to_and_fro(struct state* its) {
    MPI_Send(its->own, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(its->own, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1's part of to_and_fro, until a message with tag 2 comes. */
static void answer(struct state* its) {
    MPI_Status status;
    for (;;) {
        MPI_Recv(its->own, 8, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == 2) return;
        MPI_Send(its->own, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

/* The median over batches of the seconds one call takes. */
static double median_of(struct state* its, work call, int calls) {
    static double each[1 << 20];
    int count = 0;
    double before = 0;
    double end = 0;
    for (int i = 0; i < calls; ++i) call(its); /* connections are made */
    end = MPI_Wtime() + its->seconds;
    do {
        before = MPI_Wtime();
        for (int i = 0; i < calls; ++i) call(its);
        each[count++] = (MPI_Wtime() - before) / calls;
    } while (MPI_Wtime() < end && count < 1 << 20);
    qsort(each, (size_t)count, sizeof each[0], compare);
    return each[count / 2];
}

static void measure(struct state* its) {
    printf("put %.4f\n", median_of(its, put, batch) * 1e6);
    printf("get %.4f\n", median_of(its, get, batch) * 1e6);
    printf("add8 %.4f\n", median_of(its, add, batch) * 1e6);
    printf("row %.4f\n", row_depth / median_of(its, row, 1) / 1e6);
    printf("stream %.4f\n", (double)stream_depth * stream_bytes / median_of(its, stream, 1) / 1e6);
}

int main(int argc, char** argv) {
    struct state its = {.seconds = argc > 1 ? atof(argv[1]) : 1.0};
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "mpi_pair: 2 processes, not %d\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    MPI_Win_allocate(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &its.own, &its.window);
    memset(its.own, rank, window_bytes);
    MPI_Win_lock_all(0, its.window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) measure(&its);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(its.window);
    if (rank == 0) {
        printf("to-and-fro %.4f\n", median_of(&its, to_and_fro, batch) * 1e6);
        MPI_Send(its.own, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    } else {
        answer(&its);
    }
    MPI_Win_free(&its.window);
    MPI_Finalize();
    return 0;
}
