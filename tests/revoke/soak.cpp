// SPDX-License-Identifier: BSD-3-Clause
// Revocation while threads and processes end: rank 0 registers memory, publishes its address,
// unregisters it and checks for late bytes; all others copy into it, from threads that stay, from
// threads that end (also in their pthread-key destructors), and around children that they fork and
// that end by exit(), pthread_exit() or _exit(). Run under acprun as "revoke_soak ROUNDS" with
// ACP_ON_ERROR=return. Prints how many copies landed; ends with 1 at the first late byte.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::size_t buffer_bytes = 512;
constexpr std::size_t buffers = 64;  // each is checked once more before its next use
constexpr unsigned char pattern = 0x3c;
constexpr acp_handle_t now = ACP_HANDLE_NULL;

using Word = std::atomic<std::uint64_t>;

// The content of rank 0's starter memory. Counters are read after a barrier.
struct Board {
    Word address;  // the registered memory; 0 between registrations
    Word is_over;
    Word landed;
    Word refused;
    Word late_calls;  // copies that landed in a pthread-key destructor
    Word children;
    Word wrong;
};

Board& board() {
    return *static_cast<Board*>(acp_query_address(acp_query_starter_ga(0)));
}

void complain(const std::string& what) {
    std::fprintf(stderr, "revoke_soak: rank %d: %s (error %d: %s)\n", acp_rank(), what.c_str(),
                 acp_errno(), acp_error_message());
    board().wrong.fetch_add(1);
}

// One copy into the registered memory, if there is any. Returns whether it landed.
bool copy_once(Random& random) {
    Board& shared = board();
    const acp_ga_t target = shared.address.load(std::memory_order_acquire);
    if (target == 0) return false;
    const std::size_t bytes = std::size_t{8} << random.below(6);
    const acp_ga_t source = acp_query_starter_ga(acp_rank()) + 4096;
    const int code = acp_wait(acp_copy(target, source, bytes, now), -1);
    if (code != ACP_OK && code != ACP_ERR_STALE) complain("a copy");
    (code == ACP_OK ? shared.landed : shared.refused).fetch_add(1, std::memory_order_relaxed);
    return code == ACP_OK;
}

bool is_over() {
    return board().is_over.load(std::memory_order_acquire) != 0;
}

pthread_key_t late_key;

void copy_late(void* given) {
    auto* left = static_cast<int*>(given);
    Random random(static_cast<std::uint64_t>(*left));
    for (int copy = 0; copy < 20 && !is_over(); ++copy) {
        if (copy_once(random)) board().late_calls.fetch_add(1, std::memory_order_relaxed);
    }
    if (--*left > 0) pthread_setspecific(late_key, given);
}

// Runs threads that end, one after another.
void run_short_threads(std::uint64_t seed) {
    for (std::uint64_t turn = 0; !is_over(); ++turn) {
        std::array<std::thread, 2> threads;
        std::array<int, 2> lefts = {2, 3};
        for (std::size_t i = 0; i < threads.size(); ++i) {
            threads[i] = std::thread([&, i] {
                pthread_setspecific(late_key, &lefts[i]);
                Random random(seed + 2 * turn + i);
                for (int copy = 0; copy < 20 && !is_over(); ++copy) (void)copy_once(random);
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
}

// Forks a child in a thread that holds a hazard line; the child ends in one of three ways.
void fork_one(std::uint64_t turn) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        if (turn % 3 == 0) std::exit(0);
        if (turn % 3 == 1) pthread_exit(nullptr);
        _exit(acp_wait(1, 0) == ACP_ERR_FORKED ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) complain("a child ended with " + std::to_string(status));
    board().children.fetch_add(1, std::memory_order_relaxed);
}

void fork_children(std::uint64_t seed) {
    Random random(seed);
    for (std::uint64_t turn = 0; !is_over(); ++turn) {
        for (int copy = 0; copy < 400 && !is_over(); ++copy) {
            if (!copy_once(random)) sched_yield();
        }
        fork_one(turn);
    }
}

void copy_all_the_time() {
    const auto seed = static_cast<std::uint64_t>(acp_rank()) * 1'000'003;
    auto* source = static_cast<char*>(acp_query_address(acp_query_starter_ga(acp_rank()) + 4096));
    std::memset(source, 0xff, buffer_bytes);
    std::thread short_threads(run_short_threads, seed);
    std::thread forks(fork_children, seed + 1);
    Random random(seed + 2);
    while (!is_over()) {
        if (!copy_once(random)) sched_yield();
    }
    short_threads.join();
    forks.join();
}

using Buffer = std::array<unsigned char, buffer_bytes>;

bool is_untouched(const Buffer& buffer, std::uint64_t round, const char* when) {
    for (std::size_t i = 0; i < buffer.size(); ++i) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (buffer[i] == pattern) continue;
        complain("byte " + std::to_string(i) + " was written too late, seen in round " +
                 std::to_string(round) + " " + when);
        return false;
    }
    return true;
}

// One registration. False: a late byte was found.
bool register_once(Buffer& buffer, std::uint64_t round, Random& random) {
    Board& shared = board();
    if (!is_untouched(buffer, round, "before its turn came again")) return false;
    const acp_atkey_t key = acp_register_memory(buffer.data(), buffer.size(), 0);
    if (key == ACP_ATKEY_NULL) {
        complain("acp_register_memory");
        return false;
    }
    const std::uint64_t before = shared.landed.load(std::memory_order_relaxed);
    shared.address.store(acp_query_ga(key, buffer.data()), std::memory_order_release);
    // A short time in which copiers may be inside the memory. Waiting for one each time would
    // measure how the system shares the CPUs.
    const std::uint64_t looks = random.below(4000);
    const bool is_patient = random.chance(1);
    for (std::uint64_t look = 0; look < looks; ++look) {
        if (shared.landed.load(std::memory_order_relaxed) != before && random.chance(10)) break;
        if (is_patient && look % 100 == 0) sched_yield();
    }
    if (random.chance(50)) shared.address.store(0, std::memory_order_release);
    if (acp_unregister_memory(key) != 0) {
        complain("acp_unregister_memory");
        return false;
    }
    buffer.fill(pattern);
    for (int look = 0; look < 4; ++look) {
        if (!is_untouched(buffer, round, "at once")) return false;
    }
    shared.address.store(0, std::memory_order_release);
    return true;
}

void register_all_the_time(std::uint64_t rounds) {
    static std::array<Buffer, buffers> ring;
    for (Buffer& buffer : ring) buffer.fill(pattern);
    Random random(1);
    const std::int64_t start = now_ns();
    std::uint64_t round = 0;
    while (round < rounds && register_once(ring[round % buffers], round, random)) {
        ++round;
        if (round % 16 == 0) sched_yield();
        if (round % 5000 == 0) fork_one(round / 5000);
    }
    board().is_over.store(1, std::memory_order_release);
    std::printf("%llu rounds in %.1f s\n", static_cast<unsigned long long>(round),
                static_cast<double>(now_ns() - start) / 1e9);
}

int run(std::uint64_t rounds) {
    pthread_key_create(&late_key, copy_late);
    if (acp_init(nullptr, nullptr) != 0) {
        std::fprintf(stderr, "acp_init: %s\n", acp_error_message());
        return 1;
    }
    std::atexit([] { (void)acp_wait(1, 0); });
    if (acp_rank() == 0) {
        register_all_the_time(rounds);
    } else {
        copy_all_the_time();
    }
    if (acp_sync() != 0) return 1;
    const std::uint64_t wrong = board().wrong.load();
    if (acp_rank() == 0) {
        std::printf(
            "%llu copies landed, %llu of them in pthread-key destructors; %llu were refused; "
            "%llu children\n",
            static_cast<unsigned long long>(board().landed.load()),
            static_cast<unsigned long long>(board().late_calls.load()),
            static_cast<unsigned long long>(board().refused.load()),
            static_cast<unsigned long long>(board().children.load()));
    }
    return acp_finalize() == 0 && wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000);
}
