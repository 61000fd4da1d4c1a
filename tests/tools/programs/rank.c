/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of a real job that does what its arguments say: "[RANK:]VERB[=VALUE]", where a verb with a
 * rank is for that rank alone. A call that fails is printed with its error's name and message, and
 * the rank continues. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acp.h>

static void tell(const char* call, int outcome) {
    if (outcome == 0) return;
    printf("%s: %s: %s\n", call, acp_strerror(acp_errno()), acp_error_message());
}

enum { moved_bytes = 32 * 1024, word_at = 48 * 1024, note_at = 60 * 1024 };

static acp_ga_t starter_of(int rank) {
    return acp_query_starter_ga(rank);
}

/* Copies the first bytes of one rank's starter memory to another's and waits. */
static void move(const char* verb, int to, int from) {
    const acp_handle_t handle =
        acp_copy(starter_of(to), starter_of(from), moved_bytes, ACP_HANDLE_NULL);
    tell(verb, acp_wait(handle, -1));
}

static void abort_in_child(const char* text) {
    const pid_t child = fork();
    if (child == 0) acp_abort(text);
    waitpid(child, NULL, 0);
}

/* Puts private memory to another rank's starter memory, or gets it from there, and waits. */
static void move_pointer(const char* verb, int rank) {
    static char memory[moved_bytes];
    const acp_handle_t handle =
        verb[0] == 'p'   ? acp_put(starter_of(rank), memory, sizeof memory, ACP_HANDLE_NULL)
        : verb[0] == 'g' ? acp_get(memory, starter_of(rank), sizeof memory, ACP_HANDLE_NULL)
                         : acp_put_copied(starter_of(rank), memory, sizeof memory, ACP_HANDLE_NULL);
    printf("memory at %p\n", (void*)memory);
    fflush(stdout);
    tell(verb, acp_wait(handle, -1));
}

/* Puts to the next rank whose sources change before completion: a block, a registration, starter
 * memory; and three correct ones. */
static void change_sources(void) {
    static char memory[moved_bytes];
    const acp_ga_t to = starter_of((acp_rank() + 1) % acp_procs());
    char* const starter = acp_query_address(starter_of(acp_rank()));
    /* If the rank loses its CPU before the change, the put may have completed. Each place is
     * reported once. */
    for (int i = 0; i < 50; ++i) {
        (void)acp_put(to, memory, 8, ACP_HANDLE_NULL);
        memory[0] ^= 1;
        acp_complete(ACP_HANDLE_ALL);
        (void)acp_put(to, memory, sizeof memory, ACP_HANDLE_NULL);
        memory[0] ^= 1;
        acp_complete(ACP_HANDLE_ALL);
        (void)acp_put(to, starter, 64, ACP_HANDLE_NULL);
        starter[0] ^= 1;
        acp_complete(ACP_HANDLE_ALL);
    }
    for (int i = 0; i < 50; ++i) {
        (void)acp_put_signal(to, memory, 100, to + word_at, 1, ACP_HANDLE_NULL);
        memory[0] ^= 1;
        acp_complete(ACP_HANDLE_ALL);
    }
    (void)acp_put_copied(to, memory, sizeof memory, ACP_HANDLE_NULL);
    memory[0] ^= 1;
    for (int i = 0; i < 50; ++i) {
        acp_wait_source(acp_put(to, memory, 8, ACP_HANDLE_NULL));
        memory[0] ^= 1;
        (void)acp_put(to, memory, 1000, ACP_HANDLE_NULL);
        acp_wait_source(acp_put_signal(to, memory, 100, to + word_at, 1, ACP_HANDLE_NULL));
        memory[0] ^= 1;
        acp_wait_source(acp_put(to, starter, 64, ACP_HANDLE_NULL));
        starter[0] ^= 1;
    }
    acp_wait_source(acp_put(to, memory, sizeof memory, ACP_HANDLE_NULL));
    memory[0] ^= 1;
    acp_complete(acp_put(to, memory, 8, ACP_HANDLE_NULL));
    memory[0] ^= 1;
    acp_complete(ACP_HANDLE_ALL);
}

/* More copies to a rank than may be outstanding. */
static void flood(int to) {
    for (int i = 0; i < 70 * 1000; ++i) {
        (void)acp_copy(starter_of(to) + word_at, starter_of(acp_rank()), 8, ACP_HANDLE_NULL);
    }
    tell("flood", acp_wait(ACP_HANDLE_ALL, -1));
}

/* Fills the rank's own starter memory with repetitions of the text. */
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

/* Adds 8 bytes to a word of another rank that is not aligned. */
static void add_askew(const char* verb, int rank) {
    tell(verb,
         acp_wait(acp_add8(starter_of(acp_rank()), starter_of(rank) + 3, 1, ACP_HANDLE_NULL), -1));
}

/* Tries to register invalid memory, and to end a registration twice. */
static void register_wrong(const char* verb) {
    static const char constant[64] = "not to be written";
    static char own[64];
    if (acp_register_memory(NULL, 64, 0) == ACP_ATKEY_NULL) tell(verb, -1);
    if (acp_register_memory((void*)constant, sizeof constant, 0) == ACP_ATKEY_NULL) tell(verb, -1);
    const acp_atkey_t key = acp_register_memory(own, sizeof own, 0);
    tell(verb, acp_unregister_memory(key));
    printf("key 0x%llx\n", (unsigned long long)key);
    tell(verb, acp_unregister_memory(key));
}

/* Writes to where another rank's memory has no pointer. */
static void write_through_pointer(int rank) {
    volatile char* place = acp_query_address(starter_of(rank));
    *place = 1;
}

/* Two mistakes that only ACP_CHECK reports, each twice from the same place. */
__attribute__((noinline)) void make_mistakes(void) {
    for (int i = 0; i < 2; ++i) {
        acp_complete(
            acp_copy(starter_of(acp_rank()) + 8, starter_of(acp_rank()), 64, ACP_HANDLE_NULL));
        acp_wait(0x123456789, 0);
    }
}

/* Overlaps that ACP_CHECK reports, one a line of its output: a put, a get, a signal inside the
 * bytes that it announces, a list, a block, and a put out of memory that is registered too. */
static void make_overlaps(void) {
    static uint64_t registered[16];
    const acp_ga_t mine = starter_of(acp_rank());
    char* memory = acp_query_address(mine);
    acp_complete(acp_put(mine + 8, memory, 64, ACP_HANDLE_NULL));
    acp_complete(acp_get(memory + 8, mine, 64, ACP_HANDLE_NULL));
    acp_complete(acp_put_signal(mine, memory + 1024, 64, mine + 56, 1, ACP_HANDLE_NULL));
    const acp_copy_range_t ranges[] = {
        {mine, mine + 1024, 64}, {mine + 512, mine + 2048, 64}, {mine + 1080, mine + 3072, 64}};
    acp_complete(acp_copy_v(ranges, 3, ACP_HANDLE_NULL));
    const ptrdiff_t to = 32, from = 64;
    const size_t count = 4;
    acp_complete(acp_copy_strided(mine, &to, mine + 1024, &from, 64, &count, 1, ACP_HANDLE_NULL));
    const acp_atkey_t key = acp_register_memory(registered, sizeof registered, 0);
    const acp_ga_t again = acp_query_ga(key, registered);
    acp_complete(acp_put(again + 8, registered, 64, ACP_HANDLE_NULL));
    acp_unregister_memory(key);
}

/* The copies of make_overlaps, moved so that each is beside the other, or copies onto itself. */
static void avoid_overlaps(void) {
    const acp_ga_t mine = starter_of(acp_rank());
    char* memory = acp_query_address(mine);
    acp_complete(acp_put(mine + 64, memory, 64, ACP_HANDLE_NULL));
    acp_complete(acp_put(mine, memory, 64, ACP_HANDLE_NULL));
    acp_complete(acp_get(memory + 64, mine, 64, ACP_HANDLE_NULL));
    acp_complete(acp_put_signal(mine, memory + 1024, 64, mine + 64, 1, ACP_HANDLE_NULL));
    const acp_copy_range_t ranges[] = {
        {mine, mine + 1024, 64}, {mine + 64, mine + 1024, 64}, {mine + 128, mine + 128, 64}};
    acp_complete(acp_copy_v(ranges, 3, ACP_HANDLE_NULL));
    const ptrdiff_t to = 64, from = 0;
    const size_t count = 4;
    acp_complete(acp_copy_strided(mine, &to, mine + 1024, &from, 64, &count, 1, ACP_HANDLE_NULL));
    (void)acp_fetch_add8(mine, 1);
}

static volatile char* note_for(int rank) {
    return (volatile char*)acp_query_address(starter_of(rank)) + note_at;
}

/* Calls acp_sync; if it fails, prints that and releases the last rank, for which the other thread
 * waits. */
static void* sync_and_note(void* unused) {
    (void)unused;
    if (acp_sync() != 0) {
        tell("sync", -1);
        *note_for(acp_procs() - 1) = 1;
    }
    return NULL;
}

/* Two threads call acp_sync at once. */
static void sync_twice(void) {
    pthread_t beside;
    if (pthread_create(&beside, NULL, sync_and_note, NULL) != 0) return;
    sync_and_note(NULL);
    pthread_join(beside, NULL);
}

static void allow_descriptors(rlim_t count) {
    const struct rlimit limit = {count, count};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) perror("setrlimit");
}

static void await_line(void) {
    char line[64];
    if (fgets(line, sizeof line, stdin) == NULL) exit(1);
}

static void await_note(void) {
    while (*note_for(acp_rank()) == 0) sched_yield();
}

/* A combine function whose variables are larger than the stack on which it runs in a non-blocking
 * call. */
static void combine_with_room(void* into, const void* from, size_t count, void* context) {
    volatile char room[2 << 20];
    for (size_t i = 0; i < sizeof room; i += 4096) room[i] = (char)i;
    (void)into, (void)from, (void)count, (void)context;
}

/* Calls on the team of all ranks, or on the one that the verb "split" has made. */
static int act_on_team(const char* verb, int number) {
    static acp_team_t team;
    char bytes[8] = "";
    if (team == ACP_TEAM_NULL) team = acp_world_team();
    if (strcmp(verb, "split") == 0)
        tell(verb, (team = acp_split_team(team, 0, 0)) != ACP_TEAM_NULL ? 0 : -1);
    else if (strcmp(verb, "team-sync") == 0)
        tell(verb, acp_sync_team(team));
    else if (strcmp(verb, "team-nbsync") == 0)
        tell(verb, acp_wait_team(acp_nbsync_team(team)));
    else if (strcmp(verb, "team-deep") == 0)
        tell(verb, acp_wait_team(acp_nballreduce_by_team(team, bytes, bytes, sizeof bytes, 1,
                                                         combine_with_room, NULL)));
    else if (strcmp(verb, "team-broadcast") == 0)
        tell(verb, acp_broadcast_team(team, bytes, sizeof bytes, number));
    else if (strcmp(verb, "team-gather") == 0) /* to a rank that is not this one */
        tell(verb, acp_gather_team(team, bytes, sizeof bytes, NULL, number));
    else
        return 0;
    return 1;
}

/* Waits until the first word of the own starter memory, which is 0, is a number. */
static void wait_word(const char* verb, int number) {
    const uint64_t* word = acp_query_address(starter_of(acp_rank()));
    tell(verb, acp_wait_word(word, 8, ACP_WORD_EQUAL, (uint64_t)number, -1));
}

/* Waits for room for a PM message to a rank. */
static void wait_pm_room(const char* verb, int rank) {
    void* buffer = NULL;
    tell(verb, acp_wait_buffer_pm(acp_open_pm(0), rank, 8, &buffer, -1) == 1 ? 0 : -1);
}

/* Compiles a plan in which each rank gets 8 bytes from the next one. */
static acp_plan_t make_plan(void) {
    static char bytes[2][8];
    acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    (void)acp_add_recv_pattern(pattern, 1, bytes[0], sizeof bytes[0]);
    (void)acp_add_send_pattern(pattern, -1, bytes[1], sizeof bytes[1]);
    return acp_compile_pattern(pattern, NULL);
}

/* Two verbs: all ranks make the plan; one starts it and waits for the others. */
static void act_on_plan(const char* verb) {
    static acp_plan_t plan;
    if (strcmp(verb, "plan-make") == 0)
        tell(verb, (plan = make_plan()) != ACP_PLAN_NULL ? 0 : -1);
    else
        tell(verb, acp_start_plan(plan) == 0 ? acp_wait_plan(plan) : -1);
}

static void act(const char* verb, const char* value) {
    const int number = atoi(value);
    if (strstr(verb, "team-") == verb || strcmp(verb, "split") == 0) {
        if (!act_on_team(verb, number)) printf("unknown verb %s\n", verb);
        return;
    }
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
    else if (strcmp(verb, "malloc") == 0)
        tell(verb, acp_malloc(64, number) != ACP_GA_NULL ? 0 : -1);
    else if (strcmp(verb, "wait-word") == 0)
        wait_word(verb, number);
    else if (strstr(verb, "plan-") == verb)
        act_on_plan(verb);
    else if (strcmp(verb, "pm-room") == 0)
        wait_pm_room(verb, number);
    else if (strcmp(verb, "put-pointer") == 0 || strcmp(verb, "get-pointer") == 0 ||
             strcmp(verb, "copy-and-put") == 0)
        move_pointer(verb, number);
    else if (strcmp(verb, "change-sources") == 0)
        change_sources();
    else if (strcmp(verb, "flood") == 0)
        flood(number);
    else if (strcmp(verb, "add") == 0)
        add(verb, value);
    else if (strcmp(verb, "add-askew") == 0)
        add_askew(verb, number);
    else if (strcmp(verb, "register-wrong") == 0)
        register_wrong(verb);
    else if (strcmp(verb, "write-to") == 0)
        write_through_pointer(number);
    else if (strcmp(verb, "make-mistakes") == 0)
        make_mistakes();
    else if (strcmp(verb, "make-overlaps") == 0)
        make_overlaps();
    else if (strcmp(verb, "avoid-overlaps") == 0)
        avoid_overlaps();
    else if (strcmp(verb, "sync-twice") == 0)
        sync_twice();
    else if (strcmp(verb, "await-line") == 0)
        await_line();
    else if (strcmp(verb, "await-note") == 0)
        await_note();
    else if (strcmp(verb, "complete-put") == 0)
        acp_complete(
            acp_copy(starter_of(number), starter_of(acp_rank()), 1ULL << 40, ACP_HANDLE_NULL));
    else if (strcmp(verb, "print-sync") == 0)
        printf("%d\n", acp_sync());
    else if (strcmp(verb, "abort-in-child") == 0)
        abort_in_child(value);
    else if (strcmp(verb, "allow-descriptors") == 0)
        allow_descriptors((rlim_t)number);
    else if (strcmp(verb, "close-files") == 0)
        for (int i = 3; i < 1024; ++i) close(i);
    else if (strcmp(verb, "lose-puts") == 0) /* two failing copies that no call waits for */
        for (int i = 1; i <= 2; ++i)
            (void)acp_copy(starter_of(number), starter_of(acp_rank()), (uint64_t)i << 40,
                           ACP_HANDLE_NULL);
    else if (strcmp(verb, "abort") == 0)
        acp_abort(value);
    else if (strcmp(verb, "who") == 0)
        printf("%d of %d\n", acp_rank(), acp_procs());
    else if (strcmp(verb, "print") == 0)
        printf("%s\n", value);
    else if (strcmp(verb, "print-buffered") == 0) {
        printf("%s\n", value);
        return; /* the buffer is not flushed */
    } else if (strcmp(verb, "exit") == 0)
        exit(number);
    else if (strcmp(verb, "child") ==
             0) { /* it keeps all inherited descriptors until it is killed */
        if (fork() == 0) {
            for (;;) pause();
        }
    } else if (strcmp(verb, "closefrom") == 0)
        closefrom(number);
    else if (strcmp(verb, "shell") == 0) {
        if (system(value) < 0) perror("system");
    } else if (strcmp(verb, "exec") == 0)
        execl("/bin/sh", "sh", "-c", value, (char*)NULL);
    else if (strcmp(verb, "sleep") == 0)
        sleep((unsigned)number);         /* lint: sleep is the subject */
    else if (strcmp(verb, "again") == 0) /* runs this program again, in the same process */
        execl("/proc/self/exe", "rank", "init", (char*)NULL);
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
    setenv("ACP_ON_ERROR", "return", 0); /* failures are printed here, and the rank continues */
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
