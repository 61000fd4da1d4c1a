// SPDX-License-Identifier: BSD-3-Clause
// Scenarios: an allocation of the library is refused, or the process is killed, at a chosen moment
// of acp_init, acp_reset or acp_finalize; and acp_init is called again after a failure. A moment is
// a number of an allocation by operator new in the thread that makes the call: this program's
// operator new serves the library too.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <unistd.h>
#include <vector>

#include "life/probe.hpp"

namespace {

enum class AtMoment { nothing, refuse, kill };

// Allocations until the moment; 0: it has passed, or none was chosen.
thread_local long t_left = 0;
thread_local AtMoment t_what = AtMoment::nothing;

void* allocate(std::size_t bytes) {
    if (t_left > 0 && --t_left == 0) {
        if (t_what == AtMoment::kill) raise(SIGKILL);
        if (t_what == AtMoment::refuse) return nullptr;
    }
    return std::malloc(bytes != 0 ? bytes : 1);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    void* memory = allocate(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace acp::test {

namespace {

// Arms the moment in one rank: arguments are the number of the allocation, and "kill" or "refuse".
class Moment {
public:
    explicit Moment(bool is_here) {
        if (!is_here) return;
        t_left = std::strtol(argument(0).c_str(), nullptr, 10);
        t_what = argument(1) == "kill" ? AtMoment::kill : AtMoment::refuse;
        is_here_ = true;
    }

    Moment(const Moment&) = delete;
    Moment& operator=(const Moment&) = delete;

    ~Moment() {
        // The driver continues with later moments until a run prints this.
        if (is_here_ && t_left > 0) std::puts("the moment never came");
        std::fflush(stdout);
        t_left = 0;
    }

private:
    bool is_here_ = false;
};

constexpr int victim = 1;
constexpr acp_handle_t now = ACP_HANDLE_NULL;

bool is_victim() {
    const char* rank = std::getenv("ACP_RANK");
    return rank != nullptr && std::atoi(rank) == victim;
}

// Checks that copies work, also into private memory of the next rank, and that the ranks agree on
// their numbers.
void expect_a_working_job() {
    static std::uint64_t memory[8];
    const int rank = acp_rank();
    const int next = (rank + 1) % acp_procs();
    memory[0] = 0;
    const acp_atkey_t key = acp_register_memory(memory, sizeof memory, 0);
    words_of(rank)[0].store(acp_query_ga(key, memory));
    words_of(rank)[1].store(static_cast<std::uint64_t>(rank) + 100);
    check(acp_sync() == 0, "acp_sync");
    const acp_ga_t own = acp_query_starter_ga(rank);
    const acp_handle_t asked = acp_copy(own + 16, acp_query_starter_ga(next), 8, now);
    check(acp_wait(asked, 10'000'000'000) == ACP_OK, "the next rank's address");
    const acp_handle_t sent = acp_copy(words_of(rank)[2].load(), own + 8, 8, now);
    check(acp_wait(sent, 10'000'000'000) == ACP_OK, "a copy into the next rank's memory");
    check(acp_sync() == 0, "acp_sync");
    const int before = (rank + acp_procs() - 1) % acp_procs();
    check(memory[0] == static_cast<std::uint64_t>(before) + 100,
          "the value that the previous rank has put");
    check(acp_unregister_memory(key) == 0, "acp_unregister_memory");
}

// Calls after a failure return, and name its reason.
void expect_named(const char* call) {
    check(acp_errno() != ACP_OK, std::string(call) + " gives no code");
    check(std::strlen(acp_error_message()) > 10, std::string(call) + " gives no reason");
}

void use_what_is_left() {
    const acp_ga_t some = 0x0100'0000'0000'0000;
    (void)acp_rank();
    (void)acp_wait(acp_copy(some, some, 8, now), 1'000'000'000);
    (void)acp_inquire(2);
    (void)acp_query_address(some);
    std::uint64_t word = 0;
    (void)acp_unregister_memory(acp_register_memory(&word, sizeof word, 0));
}

// acp_init in which one rank has its moment. If it survives, a further acp_init of all ranks that
// failed succeeds.
void init_at_a_moment() {
    int tries = 0;
    for (;; ++tries) {
        const Moment moment(tries == 0 && is_victim());
        if (acp_init(nullptr, nullptr) == 0) break;
        expect_named("acp_init");
        check(acp_initialized() == 0, "acp_initialized after an acp_init that failed");
        // A rank has died: no rank can join.
        if (acp_errno() == ACP_ERR_PEER || tries == 3) return;
    }
    expect_a_working_job();
    check(acp_finalize() == 0, "acp_finalize");
}

void reset_at_a_moment() {
    join();
    const int mine = acp_procs() - 1 - acp_rank();
    int code = 0;
    {
        const Moment moment(is_victim());
        code = acp_reset(mine);
    }
    if (code == 0) {
        check(acp_rank() == mine, "acp_reset went well, but the rank is another");
        expect_a_working_job();
        check(acp_finalize() == 0, "acp_finalize");
        return;
    }
    expect_named("acp_reset");
    const bool is_death = acp_errno() == ACP_ERR_PEER;
    const bool was_begun = acp_initialized() == 0;
    use_what_is_left();
    if (is_death || !was_begun) {
        // If the old epoch still exists, it is left, in order or as far as the death allows.
        (void)acp_finalize();
        return;
    }
    // All ranks have got the failure, so all may join again, in the same epoch.
    if (argument(2) == "finalize")
        check(acp_finalize() == -1, "acp_finalize after the job was given up");
    check(acp_init(nullptr, nullptr) == 0, "acp_init after an acp_reset that failed on all");
    expect_a_working_job();
    check(acp_finalize() == 0, "acp_finalize");
}

void finalize_at_a_moment() {
    join();
    expect_a_working_job();
    static std::uint64_t memory[8];
    check(acp_register_memory(memory, sizeof memory, 0) != ACP_ATKEY_NULL, "acp_register_memory");
    int code = 0;
    {
        const Moment moment(is_victim());
        code = acp_finalize();
    }
    if (code != 0) expect_named("acp_finalize");
    check(acp_initialized() == 0, "this process has left");
}

// One rank has its moment in waits and in puts with watched or copied sources. Calls that did not
// fail have their effect, and the same calls succeed afterwards.
void wait_at_a_moment() {
    constexpr std::size_t bytes = 1U << 20U;
    constexpr std::int64_t patience_ns = 10'000'000'000;
    join();
    const int next = (acp_rank() + 1) % acp_procs();
    std::vector<char> source(bytes, 'a');
    const acp_ga_t target = acp_malloc(bytes, next);
    check(target != ACP_GA_NULL, "acp_malloc");
    const auto* const never = reinterpret_cast<std::uint64_t*>(&words_of(acp_rank())[3]);

    struct Codes {
        int source = 0;
        int word = 0;
        int puts = 0;
    };

    // Allocates nothing itself.
    const auto put_and_wait = [&] {
        Codes codes;
        acp_clear_errno();
        if (acp_wait_source(acp_put(target, source.data(), bytes, now)) != 0)
            codes.source = acp_errno();
        const acp_handle_t copied = acp_put_copied(target, source.data(), bytes, now);
        codes.word = acp_wait_word(never, 8, ACP_WORD_NOT_EQUAL, 0, 5'000'000);
        codes.puts = acp_wait(copied, patience_ns);
        return codes;
    };
    const auto is_memory_or = [](int code, int otherwise) {
        return code == otherwise || code == ACP_ERR_MEMORY;
    };
    Codes codes;
    {
        const Moment moment(is_victim());
        codes = put_and_wait();
    }
    check(is_memory_or(codes.source, ACP_OK), "acp_wait_source");
    check(is_memory_or(codes.word, ACP_ERR_TIMEOUT), "acp_wait_word of a word that stays");
    check(is_memory_or(codes.puts, ACP_OK), "the puts");
    (void)acp_wait(ACP_HANDLE_ALL, patience_ns);  // reports failures of the moment
    source.assign(bytes, 'b');
    codes = put_and_wait();
    check(codes.source == ACP_OK && codes.word == ACP_ERR_TIMEOUT && codes.puts == ACP_OK,
          "the same calls afterwards");
    std::vector<char> arrived(bytes);
    check(acp_wait(acp_get(arrived.data(), target, bytes, now), patience_ns) == ACP_OK, "acp_get");
    check(arrived == source, "what arrived");
    check(acp_free(target) == 0, "acp_free");
    expect_a_working_job();
    check(acp_finalize() == 0, "acp_finalize");
}

// The program corrects an invalid setting and calls acp_init again.
void init_again_after_a_bad_setting() {
    if (argument(0) == "all" || is_victim()) setenv("ACP_INTRANODE", "sideways", 1);
    int failures = 0;
    while (acp_init(nullptr, nullptr) != 0 && failures < 3) {
        ++failures;
        check(acp_errno() == ACP_ERR_CONFIG, "acp_init with a bad setting");
        check(acp_sync() == -1 && acp_errno() == ACP_ERR_STATE, "acp_sync after it");
        check(std::strstr(acp_error_message(), "sideways") != nullptr, "the reason is repeated");
        check(acp_finalize() == -1 && acp_errno() == ACP_ERR_STATE, "acp_finalize after it");
        unsetenv("ACP_INTRANODE");
    }
    check(failures == (argument(0) == "all" || is_victim() ? 1 : 0), "how often it failed");
    expect_a_working_job();
    check(acp_finalize() == 0, "acp_finalize");
}

}  // namespace

bool run_refusals(const std::string& name) {
    const std::map<std::string, void (*)()> scenarios = {
        {"init", init_at_a_moment},
        {"reset", reset_at_a_moment},
        {"finalize", finalize_at_a_moment},
        {"wait", wait_at_a_moment},
        {"bad_setting", init_again_after_a_bad_setting},
    };
    const auto found = scenarios.find(name);
    if (found == scenarios.end()) return false;
    found->second();
    return true;
}

}  // namespace acp::test
