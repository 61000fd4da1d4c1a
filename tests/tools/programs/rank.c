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
