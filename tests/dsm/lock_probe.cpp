// SPDX-License-Identifier: BSD-3-Clause
// Four ranks on two nodes take a lock with bytes that travel and one with a long range, while rank 3 dies
// or stops as a holder.
//   dsm_lock_probe held     rank 3 dies while it holds both locks, and has sent some of its bytes
//   dsm_lock_probe stopped  rank 3 stops while it holds both locks, and then continues
//   dsm_lock_probe random SEED  rank 3 is killed at a random moment of its sections
//   dsm_lock_probe stops SEED   rank 0 stops and continues the other ranks at random moments of theirs
//   dsm_lock_probe agent    the agent of ranks 2 and 3 stops, of which rank 3 holds both locks
// Each rank prints what it finds.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>

#include <acp.h>

#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

constexpr std::size_t page_words = 4096 / 8;
constexpr std::size_t pages = 24;
constexpr std::size_t long_words = 20 * page_words;
constexpr std::size_t short_words = 50;
constexpr int last = 3;
constexpr std::int64_t millisecond = 1'000'000;

void print(const char* text, bool is_so) {
    std::printf("rank %d: %s: %s\n", acp_rank(), text, is_so ? "yes" : "no");
    std::fflush(stdout);
}

void give(int rank, int place, std::uint64_t word) {
    const acp_ga_t ga = acp_query_starter_ga(rank) + static_cast<acp_ga_t>(place) * 8;
    acp_complete(acp_put_copied(ga, &word, sizeof word, ACP_HANDLE_NULL));
}

// The word that another rank gives this one.
std::uint64_t await_word(int place) {
    const auto* const word = static_cast<const volatile std::uint64_t*>(
                                 acp_query_address(acp_query_starter_ga(acp_rank()))) +
                             place;
    while (*word == 0) acp_wait_word(word, sizeof *word, ACP_WORD_NOT_EQUAL, 0, millisecond);
    return *word;
}

// Words that a lock guards: all of them have the number of the sections.
struct Guarded {
    acp_lock_t lock{ACP_GA_NULL};
    std::uint64_t* words = nullptr;
    std::size_t count = 0;
    std::size_t step = 1;

    [[nodiscard]] bool are_equal() const {
        for (std::size_t i = 0; i < count; i += step)
            if (words[i] != words[0]) return false;
        return true;
    }

    // Whether each word has the number of one of two sections that follow each other.
    [[nodiscard]] bool are_of_two_sections() const {
        std::uint64_t low = words[0];
        std::uint64_t high = words[0];
        for (std::size_t i = 0; i < count; i += step) {
            low = words[i] < low ? words[i] : low;
            high = words[i] > high ? words[i] : high;
        }
        return high - low <= 1;
    }

    void set(std::uint64_t value) const {
        for (std::size_t i = 0; i < count; i += step) words[i] = value;
    }

    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < count; i += step) sum = sum * 31 + words[i];
        return sum;
    }
};

acp_lock_t make_lock() {
    acp_lock_t lock{ACP_GA_NULL};
    const acp_ga_t shared = acp_query_starter_ga(0) + 64;
    if (acp_rank() == 0) {
        lock = acp_create_lock(0);
        acp_complete(acp_put(shared, &lock, sizeof lock, ACP_HANDLE_NULL));
    }
    acp_sync();
    acp_complete(acp_get(&lock, shared, sizeof lock, ACP_HANDLE_NULL));
    acp_sync();
    return lock;
}

struct Probe {
    Guarded travelling;
    Guarded staying;

    [[nodiscard]] bool begin() {
        auto* const words = static_cast<std::uint64_t*>(acp_alloc_dsm(pages * 4096));
        if (words == nullptr) return false;
        // In the pages of both nodes; both ranges share page 20.
        staying = {make_lock(), words + 7, long_words, 61};
        travelling = {make_lock(), words + 20 * page_words + 100, short_words, 1};
        return acp_bind_dsm(staying.lock, staying.words, long_words * 8) == 0 &&
               acp_bind_dsm(travelling.lock, travelling.words, short_words * 8) == 0;
    }

    // Sections of which each checks and adds one. Repairs what a dead holder left.
    bool work(int sections) const {
        for (int i = 0; i < sections; ++i) {
            for (const Guarded* const guarded : {&travelling, &staying}) {
                const int taken = acp_lock(guarded->lock);
                const bool is_right = taken == 0 || (taken == 1 && guarded == &travelling)
                                          ? guarded->are_equal()
                                          : taken == 1 && guarded->are_of_two_sections();
                if (!is_right) {
                    std::printf("rank %d: section %d took %d: %s\n", acp_rank(), i, taken,
                                taken < 0 ? acp_error_message() : "wrong bytes");
                    std::fflush(stdout);
                    return false;
                }
                guarded->set(guarded->words[0] + 1);
                if (acp_unlock(guarded->lock) != 0) return false;
            }
        }
        return true;
    }
};

// Each living rank takes both locks; of each lock one rank is notified of the death. All find the same bytes.
void look_after_death(const Probe& probe, std::uint64_t as_of_release) {
    for (const Guarded* const guarded : {&probe.travelling, &probe.staying}) {
        const bool is_short = guarded == &probe.travelling;
        const char* const name = is_short ? "travelling" : "staying";
        const int taken = acp_lock(guarded->lock);
        std::printf("rank %d: takes the lock of %s bytes: %d, bytes %016llx\n", acp_rank(), name,
                    taken, static_cast<unsigned long long>(guarded->sum()));
        std::fflush(stdout);
        if (is_short)
            print("bytes of the last release",
                  guarded->words[3] == as_of_release && guarded->are_equal());
        if (!is_short) print("bytes of two sections", guarded->are_of_two_sections());
        print("releases", acp_unlock(guarded->lock) == 0);
    }
}

int with_dead_holder(const Probe& probe) {
    bool is_right = probe.work(5);
    acp_sync();
    // The copies of all ranks.
    is_right = probe.work(1) && is_right;
    acp_sync();
    const std::uint64_t release = 4 * 6;
    if (acp_rank() == last) {
        if (acp_lock(probe.travelling.lock) != 0 || acp_lock(probe.staying.lock) != 0) return 5;
        probe.travelling.set(release + 1);
        for (std::size_t i = 0; i < long_words / 2; i += 61) probe.staying.words[i] = release + 1;
        // Some of its bytes reach their homes.
        if (acp_fence_dsm(probe.staying.words, 6 * 4096) != 0) return 5;
        for (int rank = 0; rank < last; ++rank) give(rank, 1, 1);
        raise(SIGKILL);
    }
    await_word(1);
    look_after_death(probe, release);
    for (int rank = 0; rank < last; ++rank) give(rank, 2 + acp_rank(), 1);
    for (int rank = 0; rank < last; ++rank) await_word(2 + rank);
    // The bytes differ still; the first section makes them equal.
    if (acp_rank() == 0) {
        is_right = acp_lock(probe.staying.lock) == 0 && is_right;
        probe.staying.set(100);
        is_right = acp_unlock(probe.staying.lock) == 0 && is_right;
        for (int rank = 0; rank < last; ++rank) give(rank, 6, 1);
    }
    await_word(6);
    print("works on", probe.work(20) && is_right);
    return 0;
}

int with_stopped_holder(const Probe& probe) {
    bool is_right = probe.work(5);
    acp_sync();
    if (acp_rank() == last) {
        if (acp_lock(probe.travelling.lock) != 0 || acp_lock(probe.staying.lock) != 0) return 5;
        const std::uint64_t next = probe.staying.words[0] + 1;
        probe.travelling.set(next);
        probe.staying.set(next);
        for (int rank = 0; rank < last; ++rank) give(rank, 1, static_cast<std::uint64_t>(getpid()));
        raise(SIGSTOP);
        is_right = acp_unlock(probe.staying.lock) == 0 && is_right;
        is_right = acp_unlock(probe.travelling.lock) == 0 && is_right;
    } else {
        const auto process = static_cast<pid_t>(await_word(1));
        acp::test::await_state(process, "T");
        for (const acp_lock_t lock : {probe.travelling.lock, probe.staying.lock}) {
            print("tries in vain", acp_try_lock(lock) == ACP_NONE);
            print("waits in vain", acp_lock_timeout(lock, 300 * millisecond) == ACP_NONE);
        }
        if (acp_rank() != 0) {
            give(0, 1 + acp_rank(), 1);
        } else {
            await_word(2);
            await_word(3);
            kill(process, SIGCONT);
        }
    }
    print("works on", probe.work(10) && is_right);
    acp_sync();
    return acp_finalize_dsm() == 0 && acp_finalize() == 0 ? 0 : 4;
}

int with_random_kill(const Probe& probe, std::uint64_t seed) {
    bool is_right = probe.work(3);
    if (acp_rank() == last) give(0, 1, static_cast<std::uint64_t>(getpid()));
    acp_sync();
    if (acp_rank() == last) {
        while (probe.work(1)) {
        }
        return 5;
    }
    if (acp_rank() == 0) {
        acp::test::Random random(seed);
        const auto process = static_cast<pid_t>(await_word(1));
        const std::int64_t until =
            acp::test::now_ns() + static_cast<std::int64_t>(random.below(20 * millisecond));
        while (acp::test::now_ns() < until) is_right = probe.work(1) && is_right;
        kill(process, SIGKILL);
    }
    print("works on", probe.work(60) && is_right);
    return 0;
}

void spin_until(std::int64_t until) {
    while (acp::test::now_ns() < until) {
    }
}

// Stops holders, ranks that wait, and those that release.
bool stop_others(const Probe& probe, std::uint64_t seed, std::uint64_t& sections) {
    constexpr int stops = 40;
    acp::test::Random random(seed);
    bool is_right = true;
    for (int stop = 0; stop < stops; ++stop) {
        const auto process =
            static_cast<pid_t>(await_word(1 + static_cast<int>(random.below(last))));
        const std::int64_t until =
            acp::test::now_ns() + static_cast<std::int64_t>(random.below(3 * millisecond));
        for (; acp::test::now_ns() < until; ++sections) is_right = probe.work(1) && is_right;
        spin_until(acp::test::now_ns() + static_cast<std::int64_t>(random.below(millisecond / 4)));
        kill(process, SIGSTOP);
        acp::test::await_state(process, "T");
        spin_until(acp::test::now_ns() + static_cast<std::int64_t>(random.below(2 * millisecond)));
        kill(process, SIGCONT);
    }
    return is_right;
}

int with_random_stops(const Probe& probe, std::uint64_t seed) {
    if (acp_rank() != 0) give(0, acp_rank(), static_cast<std::uint64_t>(getpid()));
    acp_sync();
    bool is_right = true;
    std::uint64_t sections = 0;
    if (acp_rank() == 0) {
        is_right = stop_others(probe, seed, sections);
        for (int rank = 1; rank <= last; ++rank) give(rank, 6, 1);
    } else {
        const volatile std::uint64_t* const end =
            static_cast<const volatile std::uint64_t*>(
                acp_query_address(acp_query_starter_ga(acp_rank()))) +
            6;
        for (; *end == 0 && is_right; ++sections) is_right = probe.work(1);
    }
    acp_sync();
    if (acp_rank() != 0) give(0, acp_rank(), sections + 1);
    acp_sync();
    if (acp_rank() == 0)
        for (int rank = 1; rank <= last; ++rank) sections += await_word(rank) - 1;
    if (acp_barrier_dsm() != 0) return 4;
    print("has each section once", acp_rank() != 0 || (probe.travelling.words[0] == sections &&
                                                       probe.staying.words[0] == sections));
    acp_sync();
    print("works on", probe.work(10) && is_right);
    acp_sync();
    return acp_finalize_dsm() == 0 && acp_finalize() == 0 ? 0 : 4;
}

int with_stopped_agent(const Probe& probe) {
    bool is_right = probe.work(5);
    acp_sync();
    const std::uint64_t release = 4 * 5;
    if (acp_rank() == last) {
        if (acp_lock(probe.travelling.lock) != 0 || acp_lock(probe.staying.lock) != 0) return 5;
        probe.travelling.set(release + 1);
        // Rank 0 stops the agent, by which the words travel.
        give(1, 1, static_cast<std::uint64_t>(getppid()));
        give(0, 1, static_cast<std::uint64_t>(getppid()));
        pause();
    }
    if (acp_rank() == 2) pause();
    const auto agent = static_cast<pid_t>(await_word(1));
    if (acp_rank() == 0) kill(agent, SIGSTOP);
    acp::test::await_state(agent, "T");
    const int taken = acp_lock(probe.travelling.lock);
    std::printf("rank %d: takes the lock of travelling bytes: %d, bytes %016llx\n", acp_rank(),
                taken, static_cast<unsigned long long>(probe.travelling.sum()));
    print("bytes of the last release",
          taken >= 0 && probe.travelling.words[3] == release && probe.travelling.are_equal());
    print("releases", acp_unlock(probe.travelling.lock) == 0);
    // Half of the pages of the long range are lost.
    const int refused = acp_lock(probe.staying.lock);
    print("is refused the long range", refused < 0 && acp_errno() == ACP_ERR_PEER);
    std::printf("%s\n", acp_error_message());
    std::fflush(stdout);
    print("is right", is_right);
    // Its end ends the job.
    if (acp_rank() == 1) {
        give(0, 2, 1);
    } else {
        await_word(2);
        kill(agent, SIGKILL);
    }
    _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    acp::test::arm_watchdog(120, "dsm_lock_probe");
    if (acp_init(&argc, &argv) != 0 || argc < 2 || acp_init_dsm(pages * 4096) != 0) return 3;
    Probe probe;
    if (!probe.begin()) {
        std::printf("%s\n", acp_error_message());
        return 3;
    }
    const std::string mode = argv[1];
    if (mode == "held") return with_dead_holder(probe);
    if (mode == "stopped") return with_stopped_holder(probe);
    if (mode == "agent") return with_stopped_agent(probe);
    const std::uint64_t seed = std::strtoull(argc > 2 ? argv[2] : "1", nullptr, 0);
    return mode == "stops" ? with_random_stops(probe, seed) : with_random_kill(probe, seed);
}
