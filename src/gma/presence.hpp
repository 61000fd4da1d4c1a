// SPDX-License-Identifier: BSD-3-Clause
// Whether threads of the program are in the library, where they do the service thread's work, and
// whether the service thread may count on their return when they are not: a program that only
// communicates returns at once; one that computes, or polls its own memory for data, does not. This
// is learned: after work arrived in an absence that was not short, the service thread listens in
// the next absences_to_listen absences, until that number ended before anything arrived. Also
// learned is whether the program reacts to arrivals: if it calls the library between one piece of
// the service thread's work and the next, the next one arrives only after the program has run. A
// wrong guess costs time, never progress. Any thread.
// Tests: tests/unit/gma/presence_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace acp::gma {

class Presence {
public:
    static constexpr std::uint32_t absences_to_listen = 16;
    // The time to wake a thread that finds the work done and sleeps again.
    static constexpr std::uint64_t short_absence_ns = 5'000;
    // For how many pieces of work a program that reacted once is taken to react.
    static constexpr std::uint32_t works_to_believe = 8;

    //   ticks_per_ns  of the clock whose readings leave() and note_work() are given
    explicit Presence(double ticks_per_ns) noexcept
        : short_absence_ticks_(
              static_cast<std::uint64_t>(static_cast<double>(short_absence_ns) * ticks_per_ns)) {}

    // A thread enters the library, and stays there until leave().
    void enter() noexcept {
        threads_.fetch_add(1, std::memory_order_seq_cst);
        pass();
    }

    // A thread calls the library: the absence is over.
    void pass() noexcept {
        // relaxed, all: guesses, of which any is right
        visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (!is_listened_.load(std::memory_order_relaxed)) return;
        is_listened_.store(false, std::memory_order_relaxed);
        const std::uint32_t left = to_listen_.load(std::memory_order_relaxed);
        if (left != 0) to_listen_.store(left - 1, std::memory_order_relaxed);
    }

    // True when no thread is left in the library and the service thread shall listen.
    //   is_for_long  it is about to sleep
    //   now          reads the clock; called when it matters
    template <typename Now>
    bool leave(bool is_for_long, Now&& now) noexcept {
        // Before the thread is counted out: the service thread, when it finds no thread there, must
        // see whether one is expected back.
        const bool is_listened = is_for_long || is_service_needed();
        is_expected_.store(!is_listened, std::memory_order_relaxed);
        is_asleep_.store(is_for_long, std::memory_order_relaxed);
        is_listened_.store(is_listened && !is_for_long, std::memory_order_relaxed);
        if (is_listened) left_at_.store(now(), std::memory_order_relaxed);
        // seq_cst: partner is the service thread, which announces its sleep, then asks
        // is_anybody_there()
        return threads_.fetch_sub(1, std::memory_order_seq_cst) == 1 && is_listened;
    }

    // Whether a thread is in the library, or has left it only for a moment.
    [[nodiscard]] bool is_anybody_there() const noexcept {
        return threads_.load(std::memory_order_seq_cst) != 0 ||
               is_expected_.load(std::memory_order_relaxed);
    }

    // How often threads entered the library, about.
    [[nodiscard]] std::uint32_t visits() const noexcept {
        return visits_.load(std::memory_order_relaxed);
    }

    // Called by the service thread, which has waited for a nap's length for a thread that left for
    // a moment: the absence is a long one, and it listens from now on.
    void expect_nobody() noexcept {
        if (!is_expected_.load(std::memory_order_relaxed)) return;
        is_expected_.store(false, std::memory_order_relaxed);
        left_at_.store(0, std::memory_order_relaxed);
        is_listened_.store(true, std::memory_order_relaxed);
    }

    // Called by the service thread, which has done something.
    void note_work(std::uint64_t now) noexcept {
        const std::uint32_t visits = visits_.load(std::memory_order_relaxed);
        if (visits != visits_at_work_) {
            works_to_believe_ = works_to_believe;
        } else if (works_to_believe_ != 0) {
            --works_to_believe_;
        }
        visits_at_work_ = visits;
        if (!std::exchange(has_come_in_absence_, false) && !is_long_absence(now)) return;
        is_listened_.store(false, std::memory_order_relaxed);
        to_listen_.store(absences_to_listen, std::memory_order_relaxed);
    }

    // Called by the service thread, which has been woken. A program that polls its own memory may
    // call the library as soon as bytes are in place, before the service thread calls note_work(),
    // and that call ends the absence. So what the absence was like is noted now, and counts if the
    // service thread finds work.
    //   is_by_datagram  something has come
    void note_wake(bool is_by_datagram, std::uint64_t now) noexcept {
        has_come_in_absence_ = is_by_datagram && is_long_absence(now);
    }

    // Asked by the service thread, which has nothing to do: whether the program runs outside the
    // library, and must run before more can come. Then looking on would only take the CPU from it.
    [[nodiscard]] bool is_program_next() const noexcept {
        return works_to_believe_ != 0 && threads_.load(std::memory_order_relaxed) == 0 &&
               !is_asleep_.load(std::memory_order_relaxed);
    }

    // The program comes again and again, for too short to be counted.
    void note_busy() noexcept { to_listen_.store(0, std::memory_order_relaxed); }

    // Whether the service thread is to listen when the last thread leaves.
    [[nodiscard]] bool is_service_needed() const noexcept {
        return to_listen_.load(std::memory_order_relaxed) != 0;
    }

private:
    // Whether the program has been away for longer than a short absence since the service thread
    // began to listen.
    [[nodiscard]] bool is_long_absence(std::uint64_t now) const noexcept {
        return is_listened_.load(std::memory_order_relaxed) &&
               now - left_at_.load(std::memory_order_relaxed) > short_absence_ticks_;
    }

    std::uint64_t short_absence_ticks_;
    std::atomic<std::uint32_t> threads_{0};
    std::atomic<bool> is_expected_{false};
    // Guesses: any value is harmless.
    std::atomic<bool> is_listened_{
        false};  // the service thread listens in this absence, and nothing has come yet
    std::atomic<std::uint32_t> to_listen_{absences_to_listen};
    std::atomic<std::uint32_t> visits_{0};
    std::atomic<std::uint64_t> left_at_{0};  // ticks; of the last absence that is listened to
    std::atomic<bool> is_asleep_{false};  // the thread that left last went to sleep in the library
    // The service thread's own:
    std::uint32_t works_to_believe_ = 0;
    std::uint32_t visits_at_work_ = 0;
    bool has_come_in_absence_ = false;
};

}  // namespace acp::gma
