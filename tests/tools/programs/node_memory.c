/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a job's memory for a comparison with acpinfo --memory. Joins, and rank 0 prints how many
 * bytes the kernel has given to the node's shared memory; no rank sends before. With arguments, all
 * ranks put BYTES to every rank of the other nodes by every rail, TIMES times, and the first rank
 * of each node prints "start SEGMENT GATEWAY OWN" before, OWN being its own process, and
 * "used SEGMENT GATEWAY OWN" afterwards.
 *   usage: node_memory [RANKS-PER-NODE TIMES BYTES] */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <acp.h>

/* Bytes in memory of the memory file "acp-node" among this process's descriptors; -1 when there is
 * none. */
static long long node_bytes(void) {
    long long bytes = -1;
    struct dirent* entry;
    DIR* folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return -1;
    }
    while ((entry = readdir(folder)) != NULL) {
        char target[256] = "";
        struct stat status;
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) > 0 &&
            strstr(target, "memfd:acp-node") != NULL &&
            fstatat(dirfd(folder), entry->d_name, &status, 0) == 0) {
            bytes = (long long)status.st_blocks * 512;
        }
    }
    closedir(folder);
    return bytes;
}

/* The private memory of a process in bytes; -1 if the kernel does not report it. */
static long long private_bytes(pid_t process) {
    long long kibibytes = -1;
    char line[256];
    FILE* file;
    snprintf(line, sizeof line, "/proc/%d/smaps_rollup", (int)process);
    file = fopen(line, "r");
    if (file == NULL) {
        return -1;
    }
    while (kibibytes < 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Anonymous: %lld", &kibibytes) != 1) {
            kibibytes = -1;
        }
    }
    fclose(file);
    return kibibytes < 0 ? -1 : kibibytes * 1024;
}

/* The parent process is the agent, which runs the gateway. */
static void tell(const char* moment) {
    printf("%s %lld %lld %lld\n", moment, node_bytes(), private_bytes(getppid()),
           private_bytes(getpid()));
}

static void put_to_others(int per_node, int times, size_t bytes, acp_ga_t source) {
    const int node = acp_rank() / per_node;
    for (int rank = 0; rank < acp_procs(); ++rank) {
        acp_handle_t last = ACP_HANDLE_NULL;
        for (int i = 0; i < times && rank / per_node != node; ++i) {
            last = acp_copy(acp_query_starter_ga(rank), source, bytes, ACP_HANDLE_NULL);
        }
        acp_complete(last);
    }
}

/* Starter memory has colour 0, so the source's colour chooses the rail. */
static int put_to_all(int per_node, int times, size_t bytes) {
    const acp_ga_t starter = acp_query_starter_ga(acp_rank());
    put_to_others(per_node, times, bytes, starter);
    for (int color = 1; color < acp_colors(); ++color) {
        void* memory = acp_query_address(starter);
        const acp_atkey_t key = acp_register_memory(memory, bytes, color);
        if (key == ACP_ATKEY_NULL) {
            return -1;
        }
        put_to_others(per_node, times, bytes, acp_query_ga(key, memory));
        if (acp_unregister_memory(key) != 0) {
            return -1;
        }
    }
    return acp_sync();
}

static int measure_network(int per_node, int times, size_t bytes) {
    const int is_first = acp_rank() % per_node == 0;
    if (is_first) {
        tell("start");
    }
    if (acp_sync() != 0 || put_to_all(per_node, times, bytes) != 0) {
        return -1;
    }
    if (is_first) {
        tell("used");
    }
    return acp_sync();
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    if (acp_sync() != 0) {
        return 1;
    }
    if (argc == 4) {
        if (measure_network(atoi(argv[1]), atoi(argv[2]), (size_t)atol(argv[3])) != 0) {
            return 1;
        }
    } else if (acp_rank() == 0) {
        printf("%lld\n", node_bytes());
    }
    return acp_sync() == 0 && acp_finalize() == 0 ? 0 : 1;
}
