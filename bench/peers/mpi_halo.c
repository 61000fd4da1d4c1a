/* SPDX-License-Identifier: BSD-3-Clause */
/* The halo exchange of paper 003 (its Table 1, eight directions, 14 messages) by an MPI, as `acpbench halo` measures ACP's: 4 ranks and more, if
 * their number is even, are a torus of two columns; else each rank sends everything to the next one. Rank 0 prints lines "WAY K
 * NANOSECONDS", each the median over rounds: "persistent" (MPI_Send_init, MPI_Startall, MPI_Waitall), "neighbour" (MPI_Neighbor_alltoallv),
 * and, of an MPI that has it, "persistent-neighbour" (MPI_Neighbor_alltoallv_init).
 *   usage: mpi_halo ROUNDS K... */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { messages = 14, rounds_most = 101, line_bytes = 64 };

static const double round_s = 5e-3;

static int rank, ranks;

/* Steps to the east and to the north: diagonals first, as the paper's program has them. */
static const int steps[messages][2] = {{-1, 1},  {-1, 1}, {1, 1},  {1, 1}, {-1, -1},
                                       {-1, -1}, {1, -1}, {1, -1}, {1, 0}, {-1, 0},
                                       {0, 1},   {0, 1},  {0, -1}, {0, -1}};

typedef struct {
    int to[messages], from[messages], bytes[messages], offsets[messages];
    char *sent, *received;
    MPI_Comm graph;
    MPI_Request requests[2 * messages];
} halo_t;

static int rank_at(int column, int row) {
    const int rows = ranks / 2;
    return (row + rows) % rows * 2 + (column + 2) % 2;
}

static char content_of(int its, int message) {
    return (char)(1 + (its * 31 + message) % 251);
}

static halo_t make_halo(int k) {
    halo_t halo;
    int all = 0;
    for (int i = 0; i < messages; ++i) {
        const int east = steps[i][0], north = steps[i][1];
        const int is_torus = ranks >= 4 && ranks % 2 == 0;
        halo.to[i] = is_torus ? rank_at(rank % 2 + east, rank / 2 + north) : (rank + 1) % ranks;
        halo.from[i] =
            is_torus ? rank_at(rank % 2 - east, rank / 2 - north) : (rank + ranks - 1) % ranks;
        halo.bytes[i] = (k + 4) * 8 * (east != 0 ? 2 : 1) * (east != 0 && north != 0 ? 1 : 16);
        halo.offsets[i] = all;
        all += (halo.bytes[i] + line_bytes - 1) / line_bytes * line_bytes;
    }
    halo.sent = aligned_alloc(line_bytes, (size_t)all);
    halo.received = aligned_alloc(line_bytes, (size_t)all);
    if (halo.sent == NULL || halo.received == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < messages; ++i)
        memset(halo.sent + halo.offsets[i], content_of(rank, i), (size_t)halo.bytes[i]);
    memset(halo.received, 0, (size_t)all);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, messages, halo.from, MPI_UNWEIGHTED, messages,
                                   halo.to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &halo.graph);
    for (int i = 0; i < messages; ++i) {
        MPI_Recv_init(halo.received + halo.offsets[i], halo.bytes[i], MPI_BYTE, halo.from[i], i,
                      MPI_COMM_WORLD, &halo.requests[i]);
        MPI_Send_init(halo.sent + halo.offsets[i], halo.bytes[i], MPI_BYTE, halo.to[i], i,
                      MPI_COMM_WORLD, &halo.requests[messages + i]);
    }
    return halo;
}

static void free_halo(halo_t* halo) {
    for (int i = 0; i < 2 * messages; ++i) MPI_Request_free(&halo->requests[i]);
    MPI_Comm_free(&halo->graph);
    free(halo->sent);
    free(halo->received);
}

static void check(const halo_t* halo) {
    for (int i = 0; i < messages; ++i) {
        const char* const message = halo->received + halo->offsets[i];
        if (message[0] != content_of(halo->from[i], i) ||
            memcmp(message, message + 1, (size_t)halo->bytes[i] - 1) != 0) {
            fprintf(stderr, "mpi_halo: message %d did not arrive whole\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void persistent(halo_t* halo) {
    MPI_Startall(2 * messages, halo->requests);
    MPI_Waitall(2 * messages, halo->requests, MPI_STATUSES_IGNORE);
}

static void neighbour(halo_t* halo) {
    MPI_Neighbor_alltoallv(halo->sent, halo->bytes, halo->offsets, MPI_BYTE, halo->received,
                           halo->bytes, halo->offsets, MPI_BYTE, halo->graph);
}

#if MPI_VERSION >= 4
static MPI_Request planned;

static void persistent_neighbour(halo_t* halo) {
    (void)halo;
    MPI_Start(&planned);
    MPI_Wait(&planned, MPI_STATUS_IGNORE);
}
#endif

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

/* Seconds of one exchange. */
static double time_each(void (*way)(halo_t*), halo_t* halo, int count) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < count; ++i) way(halo);
    return (MPI_Wtime() - start) / count;
}

static void measure(const char* name, void (*way)(halo_t*), halo_t* halo, int k, int rounds) {
    double values[rounds_most];
    way(halo);
    check(halo);
    double each = time_each(way, halo, 10);
    MPI_Bcast(&each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const double fitting = round_s / each;
    const int count = fitting < 4 ? 4 : fitting > 100000 ? 100000 : (int)fitting;
    for (int i = 0; i < rounds; ++i) values[i] = time_each(way, halo, count);
    qsort(values, (size_t)rounds, sizeof values[0], compare);
    if (rank == 0) printf("%s %d %.2f\n", name, k, values[rounds / 2] * 1e9);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int rounds = argc > 2 ? atoi(argv[1]) : 0;
    if (rounds < 1 || rounds > rounds_most || ranks < 2) {
        if (rank == 0)
            fprintf(stderr, "usage: mpi_halo ROUNDS K... (2 ranks or more; at most %d rounds)\n",
                    rounds_most);
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    for (int i = 2; i < argc; ++i) {
        const int k = atoi(argv[i]);
        halo_t halo = make_halo(k);
        measure("persistent", persistent, &halo, k, rounds);
        measure("neighbour", neighbour, &halo, k, rounds);
#if MPI_VERSION >= 4
        MPI_Neighbor_alltoallv_init(halo.sent, halo.bytes, halo.offsets, MPI_BYTE, halo.received,
                                    halo.bytes, halo.offsets, MPI_BYTE, halo.graph, MPI_INFO_NULL,
                                    &planned);
        measure("persistent-neighbour", persistent_neighbour, &halo, k, rounds);
        MPI_Request_free(&planned);
#endif
        free_halo(&halo);
    }
    MPI_Finalize();
    return 0;
}
