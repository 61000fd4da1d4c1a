/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 puts to private memory of rank 1 and gets from it, before and after an event in rank 1:
 * "private EVENT". Each time rank 0 prints the wrong bytes, and at the end the path.
 *   nothing    no event
 *   undumpable rank 1 becomes undumpable, so that the kernel refuses to attach to it
 *   main       the main thread of rank 1 ends, and another one continues its work
 *   secret     the memory comes from memfd_secret from the start */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <acp.h>

enum { bytes = 256 * 1024, half = bytes / 2, call_memfd_secret = 447, nobody = 65534 };

static void fail(const char* what) {
    printf("%s: %s: %s\n", what, acp_strerror(acp_errno()), acp_error_message());
    fflush(stdout);
    _exit(1);
}

static char* make_memory(int is_secret) {
    int file = -1;
    if (is_secret) {
        file = (int)syscall(call_memfd_secret, 0);
        if (file < 0 || ftruncate(file, bytes) != 0) {
            printf("no secret memory here\n");
            fflush(stdout);
            _exit(77);
        }
    }
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        is_secret ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Long and short copies both ways between `mine` and `theirs`; the owner has written the lower half
 * of `theirs`. */
static void exchange(acp_ga_t mine, acp_ga_t theirs, char* memory, char expected) {
    static const size_t sizes[] = {8, 1000, half};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        memset(memory, 'p', bytes);
        acp_handle_t put = acp_copy(theirs + half, mine, sizes[i], ACP_HANDLE_NULL);
        if (acp_wait(put, -1) != 0) fail("put");
        acp_handle_t get = acp_copy(mine + half, theirs, sizes[i], put);
        if (acp_wait(get, -1) != 0) fail("get");
        get = acp_copy(mine, theirs + half, sizes[i], get);
        if (acp_wait(get, -1) != 0) fail("get back");
        if (memory[half] != expected || memory[half + sizes[i] - 1] != expected)
            printf("wrong bytes got\n");
        if (memory[0] != 'p' || memory[sizes[i] - 1] != 'p') printf("wrong bytes put\n");
    }
    printf("%s\n", acp_path(mine, theirs).name);
    fflush(stdout);
}

static void synchronize(void) {
    if (acp_sync() != 0) fail("acp_sync");
}

static void* go_on(void* what) {
    pthread_t main_thread = *(pthread_t*)what;
    pthread_join(main_thread, NULL);
    synchronize(); /* the main thread has ended */
    synchronize();
    if (acp_finalize() != 0) fail("acp_finalize");
    exit(0);
}

int main(int argc, char** argv) {
    static pthread_t main_thread;
    const char* what = argc > 1 ? argv[1] : "";
    if (acp_init(&argc, &argv) != 0) fail("acp_init");
    const int rank = acp_rank();
    char* memory = make_memory(rank == 1 && strcmp(what, "secret") == 0);
    memset(memory, 'a' + rank, bytes);
    const acp_atkey_t key = acp_register_memory(memory, bytes, 0);
    if (key == ACP_ATKEY_NULL) fail("acp_register_memory");
    acp_ga_t* const told = acp_query_address(acp_query_starter_ga(1));
    const acp_ga_t mine = acp_query_ga(key, memory);
    if (rank == 1) *told = mine;
    synchronize();
    if (rank == 0) exchange(mine, *told, memory, 'b');
    synchronize();
    if (rank == 1 && strcmp(what, "undumpable") == 0) prctl(PR_SET_DUMPABLE, 0);
    if (rank == 0 && strcmp(what, "undumpable") == 0 && geteuid() == 0) {
        if (setuid(nobody) != 0) fail("setuid"); /* root may still attach */
    }
    if (rank == 1 && strcmp(what, "main") == 0) {
        pthread_t other;
        main_thread = pthread_self();
        pthread_create(&other, NULL, go_on, &main_thread);
        pthread_exit(NULL);
    }
    synchronize();
    if (rank == 0) exchange(mine, *told, memory, 'b');
    synchronize();
    return acp_finalize() == 0 ? 0 : 1;
}
