/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of a real job that does what its arguments say: "[RANK:]VERB[=VALUE]", where a verb with a rank is for
 * that rank alone. A call that fails is printed with its error's name and message, and is not the end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <acp.h>

static void tell(const char* call, int outcome) {
    if (outcome == 0) return;
    printf("%s: %s: %s\n", call, acp_strerror(acp_errno()), acp_error_message());
}

enum { moved_bytes = 32 * 1024, word_at = 48 * 1024 };

static acp_ga_t starter_of(int rank) {
    return acp_query_starter_ga(rank);
}

/* Copies the first bytes of one rank's starter memory to another's and waits. */
static void move(const char* verb, int to, int from) {
    const acp_handle_t handle =
        acp_copy(starter_of(to), starter_of(from), moved_bytes, ACP_HANDLE_NULL);
    tell(verb, acp_wait(handle, -1));
}

/* The text, again and again, in the rank's own starter memory. */
static void fill(const char* text) {
    char* memory = acp_query_address(starter_of(acp_rank()));
    const size_t length = strlen(text);
    for (size_t i = 0; i < moved_bytes; ++i) memory[i] = text[i % length];
}

/* Adds the first 8 bytes of a text to a word of the next rank, by a command. */
static void add(const char* verb, const char* text) {
    uint64_t operand = 0;
    memcpy(&operand, text, strnlen(text, sizeof operand));
    const acp_ga_t word = starter_of((acp_rank() + 1) % acp_procs()) + word_at;
    tell(verb,
         acp_wait(acp_add8(starter_of(acp_rank()) + word_at, word, operand, ACP_HANDLE_NULL), -1));
}

static void act(const char* verb, const char* value) {
    const int number = atoi(value);
    if (strcmp(verb, "init") == 0)
        tell(verb, acp_init(NULL, NULL));
    else if (strcmp(verb, "finalize") == 0)
        tell(verb, acp_finalize());
    else if (strcmp(verb, "sync") == 0)
        tell(verb, acp_sync());
    else if (strcmp(verb, "reset") == 0)
        tell(verb, acp_reset((acp_rank() + number) % acp_procs()));
    else if (strcmp(verb, "fill") == 0)
        fill(value);
    else if (strcmp(verb, "put") == 0)
        move(verb, number, acp_rank());
    else if (strcmp(verb, "get") == 0)
        move(verb, acp_rank(), number);
    else if (strcmp(verb, "add") == 0)
        add(verb, value);
    else if (strcmp(verb, "abort") == 0)
        acp_abort(value);
    else if (strcmp(verb, "who") == 0)
        printf("%d of %d\n", acp_rank(), acp_procs());
    else if (strcmp(verb, "print") == 0)
        printf("%s\n", value);
    else if (strcmp(verb, "exit") == 0)
        exit(number);
    else if (strcmp(verb, "signal") == 0) {
        signal(number, SIG_DFL); /* a sanitizer may have taken it */
        raise(number);
    } else if (strcmp(verb, "pause") == 0) {
        for (;;) pause();
    } else {
        printf("unknown verb %s\n", verb);
    }
    fflush(stdout);
}

int main(int argc, char** argv) {
    const char* own = getenv("ACP_RANK");
    const int rank = own != NULL ? atoi(own) : 0;
    setenv("ACP_ON_ERROR", "return", 0); /* failures are printed here, and are not the end */
    for (int i = 1; i < argc; ++i) {
        char word[256];
        snprintf(word, sizeof word, "%s", argv[i]);
        char* verb = word;
        char* colon = strchr(word, ':');
        char* equals = strchr(word, '=');
        if (colon != NULL && (equals == NULL || colon < equals)) {
            if (atoi(word) != rank) continue;
            verb = colon + 1;
        }
        if (equals != NULL) *equals = '\0';
        act(verb, equals != NULL ? equals + 1 : "");
    }
    return 0;
}
