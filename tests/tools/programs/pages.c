/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared pages to look at from outside. The last rank writes the last of two pages, whose home is its
 * node, in two steps, between which the others read it. Then all say "ready". When rank 0 has read a
 * line it touches the page again, and says "touched"; at the end of its input the job ends. */
#include <stdio.h>

#include <acp.h>

enum { page_words = 4096 / sizeof(long) };

static int say(const char* word) {
    printf("%s\n", word);
    return fflush(stdout);
}

static int fail(void) {
    fprintf(stderr, "%s\n", acp_error_message());
    return 1;
}

int main(int argc, char** argv) {
    char line[64];
    volatile long* pages;
    long expected = 1, sum = 0;
    if (acp_init(&argc, &argv) != 0 || acp_init_dsm(1 << 20) != 0) return fail();
    pages = acp_alloc_dsm(2 * page_words * sizeof(long));
    if (pages == NULL) return fail();
    for (long step = 1; step <= 2; ++step) {
        if (acp_rank() == acp_procs() - 1) pages[page_words] = step;
        if (acp_barrier_dsm() != 0) return fail();
        if (step == 1) sum += pages[page_words];
        if (acp_barrier_dsm() != 0) return fail();
    }
    say("ready");
    while (acp_rank() == 0 && fgets(line, sizeof line, stdin) != NULL) {
        sum += pages[page_words];
        expected += 2;
        say("touched");
    }
    if (acp_barrier_dsm() != 0 || acp_finalize_dsm() != 0 || acp_finalize() != 0) return fail();
    return sum == expected ? 0 : 1;
}
