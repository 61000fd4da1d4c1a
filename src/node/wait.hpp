// SPDX-License-Identifier: BSD-3-Clause
// The one way to wait: poll for a while, then sleep. The table in node/wait_policy.hpp says how
// long a thread polls, and whether it spins or yields between two polls. A yield that takes long
// means that another thread computes on this CPU; node/yield_credit.hpp decides whether yields
// still pay. Each call of note_progress() restarts the polling time. After 8 successive waits whose
// polling found nothing, waits sleep at once, except one in eight, which polls to learn whether
// that pays again. A sleeper wakes at least every liveness_check_ns to check for dead processes
// (liveness_check_watched_ns if an agent watches). Knows nothing of the condition: `ready` tests it
// (and may make progress), `sleep` announces the sleep, tests again, and sleeps. Any thread; one
// Waiter per process.
// Figures and reasons: ADR 0004. Tests: tests/unit/node/wait_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "node/death.hpp"
#include "node/segment.hpp"
#include "node/wait_policy.hpp"
#include "node/yield_credit.hpp"
#include "node/yield_ping_pong_detector.hpp"
#include "os/cancellation.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/signal_gate.hpp"

namespace acp::node {

enum class Outcome { ready, timeout, interrupted };

inline constexpr std::int64_t for_ever = -1;
inline constexpr std::int64_t liveness_check_ns = 250'000'000;            // if there is no agent
inline constexpr std::int64_t liveness_check_watched_ns = 2'000'000'000;  // if an agent watches

// The load of the machine that a node is on.   threads_per_rank  as in WaitLoad
[[nodiscard]] WaitLoad load_of(const Segment& segment, std::uint32_t threads_per_rank) noexcept;

// How often a thread polls memory alone before its full wait: `alone` times where each rank has a CPU
// of its own, 2 where ranks share CPUs, once if its process carries the gateway, since messages of
// other nodes arrive only while it polls that.
[[nodiscard]] int looks_before_wait(const Segment& segment, int alone) noexcept;

class Waiter {
public:
    Waiter() noexcept = default;

    //   segment           must outlive the waiter
    //   threads_per_rank  how many threads of each process wait this way: decides whether CPUs are
    //                     scarce
    explicit Waiter(const Segment& segment,
                    std::uint32_t threads_per_rank = 1,
                    LookCost look_cost = LookCost::cheap) noexcept;

    // Sets what a poll costs from now on. Called while no thread waits.
    void set_look_cost(LookCost look_cost) noexcept;

    // Waits until ready() is true.
    //   sleep(timeout_ns)  os::Wake; must call ready() after it announced itself
    //   timeout_ns         >= 0, or for_ever
    //   gate               a signal handler that runs during the wait ends it, also while this
    //                      thread polls; nullptr: it does not. sleep() opens the gate around the
    //                      sleep (sleep_on_bell). It may be shut when this returns: the caller
    //                      opens it.
    template <typename Ready, typename Sleep>
    Outcome wait(Ready&& ready,
                 Sleep&& sleep,
                 std::int64_t timeout_ns,
                 os::SignalGate* gate = nullptr) {
        // A handler that runs before this line is indistinguishable from one that ran before the
        // call.
        if (gate != nullptr && timeout_ns != 0) gate->shut();
        const int first = first_looks(timeout_ns);
        for (int i = 0; i < first; ++i) {
            if (ready()) {
                return Outcome::ready;
            }
            relax();
        }
        if (timeout_ns == 0) {
            return Outcome::timeout;
        }
        std::uint64_t start_ns = timeout_ns > 0 ? os::now_ns() : 0;
        if (is_worth_polling() && poll(ready, timeout_ns)) {
            useless_.store(0, std::memory_order_relaxed);
            return Outcome::ready;
        }
        useless_.fetch_add(1, std::memory_order_relaxed);
        start_ns = start_ns != 0 ? start_ns : os::now_ns();
        return sleep_until(ready, sleep, start_ns, timeout_ns, gate != nullptr);
    }

    // Something arrived, though perhaps not the caller's condition; more may follow soon. So the
    // polls of this process restart their time, and the next wait polls before it sleeps.
    void note_progress() noexcept {
        progress_.store(os::ticks(), std::memory_order_relaxed);
        useless_.store(0, std::memory_order_relaxed);
    }

private:
    static constexpr std::uint32_t useless_max = 8;
    // A shorter yield ran no other thread: the call alone takes 0.4 us, with a switch 1.5 us.
    static constexpr std::uint64_t lone_yield_ns = 800;
    static constexpr int looks_min = 3;  // between two yields
    static constexpr int looks_max = 64;

    [[nodiscard]] int first_looks(std::int64_t timeout_ns) const noexcept {
        const int looks = timeout_ns == 0 ? policy_.query_looks : policy_.first_looks;
        return looks == looks_learned ? looks_.load(std::memory_order_relaxed) : looks;
    }

    [[nodiscard]] bool is_look_dear() const noexcept { return policy_.look_cost == LookCost::dear; }

    // No pause after a poll that makes a system call: the core's other hardware thread ran during
    // that.
    void relax() const noexcept {
        if (!is_look_dear()) os::relax();
    }

    [[nodiscard]] bool is_worth_polling() noexcept {
        return useless_.load(std::memory_order_relaxed) < useless_max ||
               (probe_.fetch_add(1, std::memory_order_relaxed) & 7U) == 7U;
    }

    template <typename Ready>
    bool poll(Ready& ready, std::int64_t timeout_ns) {
        const std::uint64_t start = os::ticks();
        std::uint64_t bound = poll_ticks_;
        if (timeout_ns > 0) {
            const double wanted = static_cast<double>(timeout_ns) * ticks_per_ns_;
            bound = std::min(bound, wanted < 1e18 ? static_cast<std::uint64_t>(wanted) : bound);
        }
        if (!policy_.is_yielding) return poll_spinning(ready, start, bound);
        if (YieldCredit::may_yield(segment_->control(), os::now_ns()))
            return poll_yielding(ready, start, bound);
        return stay_ticks_ != 0 && poll_spinning(ready, start, std::min(bound, stay_ticks_));
    }

    template <typename Ready>
    bool poll_spinning(Ready& ready, std::uint64_t start, std::uint64_t bound) {
        do {
            for (int i = 0; i < 8; ++i) {
                if (ready()) {
                    return true;
                }
                relax();
            }
        } while (!is_over(start, bound, os::ticks()));
        return false;
    }

    // Whether `bound` ticks have passed since `start` and since the last note_progress().
    [[nodiscard]] bool is_over(std::uint64_t start,
                               std::uint64_t bound,
                               std::uint64_t now) const noexcept {
        const std::uint64_t since = std::max(start, progress_.load(std::memory_order_relaxed));
        return now > since && now - since >= bound;
    }

    template <typename Ready>
    bool poll_yielding(Ready& ready, std::uint64_t start, std::uint64_t bound) {
        std::uint64_t before = start;
        int looks = looks_.load(std::memory_order_relaxed);
        for (int yields = 1;; ++yields) {
            os::yield_cpu();
            const std::uint64_t after = os::ticks();
            if (after - before > long_yield_ticks_) {
                credit_.note_long(segment_->control(), os::now_ns(), to_ns(after - before));
                return ready();
            }
            // A yield that returns at once shows that no other thread wants this CPU now: poll more
            // often.
            const bool is_alone = after - before < lone_yield_ticks_;
            looks = policy_.yield_looks != looks_learned ? policy_.yield_looks
                    : is_alone                           ? std::min(2 * looks, looks_max)
                                                         : looks_min;
            if (policy_.is_napping && ping_pong_.note(!is_alone, to_ns(after))) os::nap();
            looks_.store(looks, std::memory_order_relaxed);
            const std::uint64_t progress = progress_.load(std::memory_order_relaxed);
            for (int i = 0; i < looks; ++i) {
                if (ready()) {
                    credit_.note_good(segment_->control());
                    return true;
                }
                // This poll made progress: the answer takes a while, and its sender may need this
                // CPU. So yield again.
                if (is_look_dear() && progress_.load(std::memory_order_relaxed) != progress) break;
                relax();
            }
            before = os::ticks();
            if (yields >= 4 && is_over(start, bound, before)) {
                return false;
            }
        }
    }

    template <typename Ready, typename Sleep>
    Outcome sleep_until(Ready& ready,
                        Sleep& sleep,
                        std::uint64_t start_ns,
                        std::int64_t timeout_ns,
                        bool is_interruptible) {
        // it may check for dead processes, which reads files
        const os::CancellationHold cancellation;
        for (;;) {
            std::int64_t nap_ns = is_watched() ? liveness_check_watched_ns : liveness_check_ns;
            if (timeout_ns >= 0) {
                const std::int64_t left =
                    timeout_ns - static_cast<std::int64_t>(os::now_ns() - start_ns);
                nap_ns = std::min(nap_ns, std::max<std::int64_t>(left, 0));
            }
            const os::Wake wake = sleep(nap_ns);
            if (ready()) {
                return Outcome::ready;
            }
            if (wake == os::Wake::interrupted && is_interruptible) {
                return Outcome::interrupted;
            }
            const std::uint64_t waited_ns = os::now_ns() - start_ns;
            if (timeout_ns >= 0 && waited_ns >= static_cast<std::uint64_t>(timeout_ns)) {
                return Outcome::timeout;
            }
            if (wake == os::Wake::timeout) {
                find_the_dead(*segment_);
            }
        }
    }

    [[nodiscard]] bool is_watched() const noexcept;

    [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
        return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_ns_);
    }

    const Segment* segment_ = nullptr;
    std::uint32_t threads_per_rank_ = 1;
    WaitPolicy policy_;
    // The policy's times, in ticks of os::ticks().
    std::uint64_t poll_ticks_ = 0;
    std::uint64_t stay_ticks_ = 0;
    std::uint64_t long_yield_ticks_ = 0;
    std::uint64_t lone_yield_ticks_ = 0;
    double ticks_per_ns_ = 1;
    // Hints only, shared by the process's threads: any value is harmless.
    std::atomic<std::uint32_t> useless_{0};
    std::atomic<int> looks_{looks_min};
    std::atomic<std::uint32_t> probe_{0};
    std::atomic<std::uint64_t> progress_{0};  // ticks
    YieldPingPongDetector ping_pong_;
    YieldCredit credit_;
};

// Sleeps on a bell: announces, tests once more, sleeps.
//   gate  of a wait that signal handlers end, else nullptr
template <typename Ready>
os::Wake sleep_on_bell(sync::Bell<>& bell,
                       Ready& ready,
                       std::int64_t timeout_ns,
                       os::SignalGate* gate = nullptr) {
    const std::uint32_t value = bell.announce();  // partner: ring_bell
    if (ready()) return os::Wake::changed;
    return gate != nullptr ? gate->wait(bell.word(), value, timeout_ns)
                           : os::futex_wait(bell.word(), value, timeout_ns);
}

// Called after the awaited change is visible. A fence and one load if no thread sleeps.
void ring_bell(sync::Bell<>& bell) noexcept;

// ring_bell without its fence, for callers that published by a sequentially consistent
// read-modify-write and whose sleepers test by a sequentially consistent load.
inline void ring_bell_after_rmw(sync::Bell<>& bell) noexcept {
    if (bell.ring()) [[unlikely]] {
        os::futex_wake(bell.word(), os::everybody);
    }
}

// Wakes the service thread of a process: rings its bell, and wakes its socket, on which it sleeps
// in udp mode. Same memory order as ring_bell_after_rmw.
void wake_service(const Segment& segment, std::uint32_t slot) noexcept;

}  // namespace acp::node
