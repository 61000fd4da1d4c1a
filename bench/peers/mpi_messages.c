/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and collective calls of an MPI, in the shapes in which `acpbench message` and `acpbench collective` measure ACP. Rank 0 prints lines
 * "CASE BYTES NANOSECONDS", each the median over rounds. Of two ranks: "to-and-fro", half a round trip, and "one-way", one message of a
 * burst. Of all ranks: the collective calls by the names that acpbench has; a time is the mean over the ranks. Calls
 * that no rank leaves before all have come are made one after another; before each of the others stands a barrier, which is not timed; where ranks outnumber CPUs it is timed too, and the name begins with
 * "sync+": whose waiting falls into the barrier and whose into the call is the scheduler's choice there.
 *   usage: mpi_messages message|collective ROUNDS BYTES... */
#define _GNU_SOURCE /* sched_getaffinity */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    rounds_most = 101,
    long_bytes = 64 << 10, /* from here on several messages are under way */
    under_way = 4
};

static const double round_s = 5e-3;

static int rank, ranks, is_crowded;
static char *sent, *received;

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median_of(double* values, int count) {
    qsort(values, (size_t)count, sizeof values[0], compare);
    return values[count / 2];
}

static void barrier(int bytes) {
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(int bytes) {
    MPI_Bcast(sent, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(int bytes) {
    MPI_Reduce(sent, received, bytes / 8, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(int bytes) {
    MPI_Allreduce(sent, received, bytes / 8, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(int bytes) {
    MPI_Gather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allgather(int bytes) {
    MPI_Allgather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void scatter(int bytes) {
    MPI_Scatter(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void alltoall(int bytes) {
    MPI_Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void scan(int bytes) {
    MPI_Scan(sent, received, bytes / 8, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static const struct collective {
    const char* name;
    void (*make)(int bytes);
    int has_size, meets;
} collectives[] = {
    {"sync", barrier, 0, 1},        {"broadcast", broadcast, 1, 0}, {"reduce", reduce, 1, 0},
    {"allreduce", allreduce, 1, 1}, {"gather", gather, 1, 0},       {"allgather", allgather, 1, 1},
    {"scatter", scatter, 1, 0},     {"alltoall", alltoall, 1, 1},   {"scan", scan, 1, 0},
};

/* Seconds of one call, the mean over all ranks. */
static double time_calls(const struct collective* its, int bytes, int count) {
    double sum = 0;
    double all = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (its->meets) {
        const double start = MPI_Wtime();
        for (int i = 0; i < count; ++i) its->make(bytes);
        sum = MPI_Wtime() - start;
    } else if (is_crowded) {
        const double start = MPI_Wtime();
        for (int i = 0; i < count; ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            its->make(bytes);
        }
        sum = MPI_Wtime() - start;
    } else {
        for (int i = 0; i < count; ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = MPI_Wtime();
            its->make(bytes);
            sum += MPI_Wtime() - start;
        }
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all / ranks / count;
}

/* As many as last about a round; the same number on all ranks. */
static int count_for(double seconds_each) {
    const double count = round_s / seconds_each;
    return count < 4 ? 4 : count > 100000 ? 100000 : (int)count;
}

static void measure_collective(const struct collective* its, int bytes, int rounds) {
    double values[rounds_most];
    (void)time_calls(its, bytes, 2); /* memory is touched, connections are made */
    const int count = count_for(time_calls(its, bytes, 10));
    for (int i = 0; i < rounds; ++i) values[i] = time_calls(its, bytes, count);
    if (rank == 0)
        printf("%s%s %d %.2f\n", is_crowded && !its->meets ? "sync+" : "", its->name,
               its->has_size ? bytes : 0, median_of(values, rounds) * 1e9);
}

static double to_and_fro(int bytes, int count) {
    const double start = MPI_Wtime();
    for (int i = 0; i < count; ++i) {
        if (rank == 0) {
            memcpy(sent, &i, sizeof i);
            MPI_Send(sent, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(received, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(received, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(received, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / (2.0 * count);
}

static double one_way(int bytes, int count) {
    MPI_Request requests[under_way];
    MPI_Status statuses[under_way];
    char word[8] = {0};
    const int depth = bytes >= long_bytes ? under_way : 1;
    const double start = MPI_Wtime();
    for (int i = 0; i < count; i += depth) {
        if (depth == 1 && rank == 0) MPI_Send(sent, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (depth == 1 && rank == 1)
            MPI_Recv(received, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (depth == 1) continue;
        for (int j = 0; j < depth; ++j) {
            if (rank == 0) {
                MPI_Isend(sent, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[j]);
            } else {
                MPI_Irecv(received, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[j]);
            }
        }
        MPI_Waitall(depth, requests, statuses);
    }
    if (rank == 0) {
        MPI_Recv(word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(word, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / count;
}

static void measure_messages(const char* name, double (*run)(int, int), int bytes, int rounds) {
    double values[rounds_most];
    double each = run(bytes, 40);
    each = run(bytes, 40);
    MPI_Bcast(&each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const int count = count_for(each) / under_way * under_way;
    for (int i = 0; i < rounds; ++i) values[i] = run(bytes, count);
    if (rank == 0) printf("%s %d %.2f\n", name, bytes, median_of(values, rounds) * 1e9);
}

int main(int argc, char** argv) {
    int most = 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    cpu_set_t cpus;
    is_crowded = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && ranks > CPU_COUNT(&cpus);
    const int rounds = argc > 3 ? atoi(argv[2]) : 0;
    const int are_messages = argc > 1 && strcmp(argv[1], "message") == 0;
    if (rounds < 1 || rounds > rounds_most || (are_messages && ranks != 2)) {
        if (rank == 0)
            fprintf(stderr,
                    "usage: mpi_messages message|collective ROUNDS BYTES... (messages: 2 ranks; at "
                    "most %d rounds)\n",
                    rounds_most);
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    for (int i = 3; i < argc; ++i) most = atoi(argv[i]) > most ? atoi(argv[i]) : most;
    sent = malloc((size_t)most * (size_t)ranks);
    received = malloc((size_t)most * (size_t)ranks);
    if (sent == NULL || received == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(sent, 1, (size_t)most * (size_t)ranks);
    memset(received, 2, (size_t)most * (size_t)ranks);
    for (int i = 3; are_messages && i < argc; ++i) {
        measure_messages("to-and-fro", to_and_fro, atoi(argv[i]), rounds);
        measure_messages("one-way", one_way, atoi(argv[i]), rounds);
    }
    for (size_t k = 0; !are_messages && k < sizeof collectives / sizeof collectives[0]; ++k) {
        for (int i = 3; i < argc; ++i) {
            if (i > 3 && !collectives[k].has_size) break;
            measure_collective(&collectives[k], atoi(argv[i]), rounds);
        }
    }
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
