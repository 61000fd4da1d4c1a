/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that does what its arguments say, one after the other: "[RANK:]VERB[=VALUE]", where a verb
 * with a rank is for that rank alone. Plain POSIX; knows nothing of ACP but the variable ACP_RANK.
 * */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int rank;

static void say(int stream, const char* text, const char* end) {
    char line[4096];
    const int length = snprintf(line, sizeof line, "%s%s", text, end);
    if (write(stream, line, (size_t)length) != length) _exit(99);
}

static void on_signal(int number) {
    char line[32];
    const int length = snprintf(line, sizeof line, "got %d\n", number);
    if (write(1, line, (size_t)length) != length) _exit(99);
}

static void on_last_signal(int number) {
    on_signal(number);
    _exit(0);
}

static void handle(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(number, &action, NULL);
}

static void pause_for_ever(void) {
    for (;;) pause();
}

/* Starts a child in a session of its own: signals to the job's process groups do not reach it. */
static void leave_child(void) {
    const int child = fork();
    if (child != 0) return;
    setsid();
    pause_for_ever();
}

/* The first line of the input, or "end of input". */
static void read_line(void) {
    char line[1024];
    size_t length = 0;
    while (length < sizeof line - 1 && read(0, line + length, 1) == 1) {
        if (line[length] == '\n') break;
        ++length;
    }
    line[length] = '\0';
    say(1, length > 0 ? line : "end of input", "\n");
}

static void print_cpus(void) {
    cpu_set_t set;
    char line[32];
    sched_getaffinity(0, sizeof set, &set);
    snprintf(line, sizeof line, "%d", CPU_COUNT(&set));
    say(1, line, "\n");
}

/* Whole lines of different lengths, written in pieces. */
static void print_lines(long count) {
    for (long i = 0; i < count; ++i) {
        char line[160];
        int length = snprintf(line, sizeof line, "rank %d line %ld ", rank, i);
        for (long pad = i % 100; pad > 0; --pad) line[length++] = 'x';
        length += snprintf(line + length, 16, " end\n");
        const int half = length / 2;
        if (write(1, line, (size_t)half) != half) _exit(99);
        if (write(1, line + half, (size_t)(length - half)) != length - half) _exit(99);
    }
}

static void print_bytes(long count) {
    static char block[65536];
    memset(block, 'b', sizeof block);
    while (count > 0) {
        const size_t piece = count < (long)sizeof block ? (size_t)count : sizeof block;
        const ssize_t taken = write(1, block, piece);
        if (taken < 0) _exit(98);
        count -= taken;
    }
}

static void print_signal_state(int number) {
    struct sigaction action;
    sigset_t mask;
    sigaction(number, NULL, &action);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    say(1, action.sa_handler == SIG_IGN ? "ignored" : "default",
        sigismember(&mask, number) == 1 ? " blocked\n" : "\n");
}

static void act(const char* verb, const char* value) {
    const long number = atol(value);
    if (strcmp(verb, "print") == 0)
        say(1, value, "\n");
    else if (strcmp(verb, "part") == 0)
        say(1, value, "");
    else if (strcmp(verb, "return") == 0)
        say(1, value, "\r");
    else if (strcmp(verb, "error") == 0)
        say(2, value, "\n");
    else if (strcmp(verb, "errorpart") == 0)
        say(2, value, "");
    else if (strcmp(verb, "variable") == 0)
        say(1, getenv(value) != NULL ? getenv(value) : "not set", "\n");
    else if (strcmp(verb, "exit") == 0)
        _exit((int)number);
    else if (strcmp(verb, "signal") == 0)
        raise((int)number);
    else if (strcmp(verb, "trap") == 0)
        handle((int)number, on_signal);
    else if (strcmp(verb, "end-on") == 0)
        handle((int)number, on_last_signal);
    else if (strcmp(verb, "ignore") == 0)
        handle((int)number, SIG_IGN);
    else if (strcmp(verb, "state") == 0)
        print_signal_state((int)number);
    else if (strcmp(verb, "pause") == 0)
        pause_for_ever();
    else if (strcmp(verb, "fork") == 0)
        leave_child();
    else if (strcmp(verb, "read") == 0)
        read_line();
    else if (strcmp(verb, "cpus") == 0)
        print_cpus();
    else if (strcmp(verb, "lines") == 0)
        print_lines(number);
    else if (strcmp(verb, "bytes") == 0)
        print_bytes(number);
    else if (strcmp(verb, "close") == 0)
        close((int)number);
    else {
        fprintf(stderr, "act: unknown verb %s\n", verb);
        _exit(97);
    }
}

int main(int argc, char** argv) {
    const char* own = getenv("ACP_RANK");
    rank = own != NULL ? atoi(own) : 0;
    for (int i = 1; i < argc; ++i) {
        char word[4096];
        snprintf(word, sizeof word, "%s", argv[i]);
        char* verb = word;
        char* colon = strchr(word, ':');
        char* equals = strchr(word, '=');
        if (colon != NULL && (equals == NULL || colon < equals)) {
            *colon = '\0';
            if (atoi(word) != rank) continue;
            verb = colon + 1;
        }
        if (equals != NULL) *equals = '\0';
        act(verb, equals != NULL ? equals + 1 : "");
    }
    return 0;
}
