/* SPDX-License-Identifier: BSD-3-Clause */
/* A small correct program for the test of other tools: it uses the heap of its neighbour by calls,
 * by a pointer and by a system call. Arguments, each a word: "lock" calls mlockall(MCL_FUTURE)
 * before acp_init; "lock-all" calls mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) after it;
 * "exit" ends without acp_finalize; "crash" ends by a signal; "wrong" writes to a block of malloc
 * that it has freed; "race" lets two threads write one variable without a lock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <acp.h>

static int argument_count;
static char** arguments;

static int is_asked(const char* word) {
    for (int i = 1; i < argument_count; ++i)
        if (strcmp(arguments[i], word) == 0) return 1;
    return 0;
}

static void fail(const char* what) {
    fprintf(stderr, "wrong: %s: %s\n", what, acp_error_message());
    exit(1);
}

/* Prints a line of /proc/self/status. */
static void print_status(const char* name, const char* when) {
    char line[256];
    FILE* file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) printf("%s %s", when, line);
    if (file != NULL) fclose(file);
}

static volatile int raced;

static void* use(void* unused) {
    if (is_asked("race")) raced = raced + 1;
    const int next = (acp_rank() + 1) % acp_procs();
    char text[] = "0123456789";
    char read_back[sizeof text] = "";
    const acp_ga_t block = acp_malloc(4096, next);
    if (block == ACP_GA_NULL) fail("acp_malloc");
    if (acp_wait(acp_put(block, text, sizeof text, ACP_HANDLE_NULL), -1) != ACP_OK) fail("acp_put");
    if (acp_wait(acp_get(read_back, block, sizeof text, ACP_HANDLE_NULL), -1) != ACP_OK)
        fail("acp_get");
    if (strcmp(text, read_back) != 0) fail("the bytes that acp_get returned");
    const acp_ga_t own = acp_malloc(4096, acp_rank());
    char* const memory = acp_query_address(own);
    if (memory == NULL) fail("acp_query_address");
    memcpy(memory, text, sizeof text);
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], memory, sizeof text) != sizeof text ||
        read(ends[0], memory + 100, sizeof text) != sizeof text || strcmp(memory + 100, text) != 0)
        fail("a pipe from and to the heap");
    acp_free(block);
    acp_free(own);
    return unused;
}

int main(int argc, char** argv) {
    argument_count = argc;
    arguments = argv;
    if (is_asked("lock") && mlockall(MCL_FUTURE) != 0) return 77;
    if (acp_init(&argc, &argv) != 0) fail("acp_init");
    if (is_asked("lock-all") && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) return 77;
    pthread_t thread;
    if (pthread_create(&thread, NULL, use, NULL) != 0) fail("pthread_create");
    use(NULL);
    if (pthread_join(thread, NULL) != 0) fail("pthread_join");
    if (acp_sync() != 0) fail("acp_sync");
    print_status("RssShmem", "in use");
    if (is_asked("wrong")) {
        volatile char* volatile memory =
            malloc(10); /* volatile bytes: the compiler keeps the store to freed memory */
        free((void*)memory);
        memory[1] = 'x';
    }
    if (is_asked("crash")) abort();
    if (is_asked("exit")) exit(0);
    if (acp_finalize() != 0) fail("acp_finalize");
    print_status("RssShmem", "over");
    return 0;
}
