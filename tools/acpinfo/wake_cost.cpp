// SPDX-License-Identifier: BSD-3-Clause
// A waker and a sleeper, each bound to its own CPU, share two words: the sleeper sleeps on `round`,
// and stores the time at which it runs in `woken_at_ns`. The waker counts only wakes that found it
// asleep.
#include "wake_cost.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

namespace acp::acpinfo {

namespace {

constexpr std::size_t samples_wanted = 31;
constexpr std::uint32_t rounds_max = 2 * samples_wanted;
constexpr std::int64_t pause_ns = 1'000'000;
constexpr std::uint32_t last_round = 0xffff'ffffU;

struct Meeting {
    std::atomic<std::uint32_t> round{0};          // written by the waker
    std::atomic<std::uint64_t> woken_at_ns{0};    // written by the sleeper, cleared by the waker
    std::atomic<std::uint32_t> never_changed{0};  // the waker pauses on it
};

void sleep_and_tell(Meeting& meeting) {
    static_cast<void>(os::pin_to_cpu(1));  // unbound, the figure is only less sharp
    std::uint32_t seen = 0;
    for (;;) {
        // acquire: pairs with the waker's release store of round, so that woken_at_ns is cleared
        // before.
        const std::uint32_t round = meeting.round.load(std::memory_order_acquire);
        if (round == last_round) return;
        if (round != seen) {
            seen = round;
            // release: pairs with the waker's acquire load.
            meeting.woken_at_ns.store(os::now_ns(), std::memory_order_release);
        }
        os::futex_wait(meeting.round, seen, -1);
    }
}

// Wakes the sleeper once; 0 when it was not asleep.
std::uint64_t wake_once(Meeting& meeting, std::uint32_t round) {
    os::futex_wait(meeting.never_changed, 0, pause_ns);
    meeting.woken_at_ns.store(0, std::memory_order_relaxed);  // published by the store of round
    const std::uint64_t begin_ns = os::now_ns();
    // release: pairs with the sleeper's acquire load.
    meeting.round.store(round, std::memory_order_release);
    const bool was_asleep = os::futex_wake(meeting.round, 1) == 1;
    std::uint64_t end_ns = 0;
    while (end_ns == 0) {
        os::yield_cpu();
        // pairs with the sleeper's store
        end_ns = meeting.woken_at_ns.load(std::memory_order_acquire);
    }
    return was_asleep && end_ns > begin_ns ? end_ns - begin_ns : 0;
}

void wake_and_measure(Meeting& meeting, std::vector<std::uint64_t>& samples_ns) {
    static_cast<void>(os::pin_to_cpu(0));
    for (std::uint32_t round = 1; round <= rounds_max && samples_ns.size() < samples_wanted;
         ++round) {
        const std::uint64_t cost_ns = wake_once(meeting, round);
        if (cost_ns != 0) samples_ns.push_back(cost_ns);
    }
    meeting.round.store(last_round, std::memory_order_release);  // pairs with the sleeper's load
    os::futex_wake(meeting.round, 1);
}

}  // namespace

std::optional<std::uint64_t> measure_wake_cost_ns() {
    if (os::affinity_count() < 2) return std::nullopt;
    Meeting meeting;
    std::vector<std::uint64_t> samples_ns;
    samples_ns.reserve(samples_wanted);
    auto sleeper = os::Thread::start("acp-sleeper", [&] { sleep_and_tell(meeting); });
    if (!sleeper.is_ok()) return std::nullopt;
    auto waker = os::Thread::start("acp-waker", [&] { wake_and_measure(meeting, samples_ns); });
    if (!waker.is_ok()) {
        meeting.round.store(last_round,
                            std::memory_order_release);  // pairs with the sleeper's load
        os::futex_wake(meeting.round, 1);
        return std::nullopt;
    }
    waker.value().join();
    sleeper.value().join();
    if (samples_ns.empty()) return std::nullopt;
    const auto middle = samples_ns.begin() + static_cast<std::ptrdiff_t>(samples_ns.size() / 2);
    std::nth_element(samples_ns.begin(), middle, samples_ns.end());
    return *middle;
}

}  // namespace acp::acpinfo
