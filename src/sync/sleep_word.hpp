// SPDX-License-Identifier: BSD-3-Clause
// The awaited word: an epoch number and, in its lowest bit, whether a thread sleeps for it. The
// exchange that publishes an epoch also returns whether a thread sleeps, so neither side needs a
// fence, and there is no count of sleepers that a killed sleeper could leave wrong. Knows neither
// the futex nor the policy of waiting. Lives in shared memory; zero is epoch 0 without sleepers.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::sync {

// Waiter:                                        Publisher:
//   v = load(); reached(v, e)? done                if (publish(e)) wake all sleepers on word()
//   announce_sleep(v)? no: start over
//   look for deaths (never before announcing)
//   futex wait on word() while it is v
//
// If one side dies or stops: a waiter that dies leaves the bit set, which costs one needless wake.
// The watcher finds a publisher that dies before publish(). If a publisher dies between publish()
// and its wake, the watcher's clear_sleep() and wake, or their timeout, wake the sleepers.
template <template <class> class Atomic = std::atomic>
class SleepWord {
public:
    // Publishes epoch; epochs of one word are published in rising order (mod 2^28). true when
    // a thread sleeps: the caller must then wake all sleepers on word().
    [[nodiscard]] bool publish(std::uint32_t epoch) noexcept {
        // acq_rel: release for load() of the waiters, which then see the publisher's earlier
        // writes; acquire, so that the release also covers the writes that an earlier publisher
        // released. Either this exchange returns the bit of an announce_sleep(), or that
        // announce_sleep() fails: the modification order of the word decides.
        return (word_.exchange(epoch << epoch_shift, std::memory_order_acq_rel) & sleep_bit) != 0;
    }

    // publish() for several threads that may publish the same epoch, perhaps late. Only the first
    // one publishes; none does after a later epoch. A second publish() of an epoch would clear the
    // count of clear_sleep(), on which the waiters of the next epoch rely.
    [[nodiscard]] bool publish_unless_reached(std::uint32_t epoch) noexcept {
        std::uint32_t value = load();
        do {
            if (reached(value, epoch)) return false;
            // acq_rel: as publish(). acquire on failure: as load()
        } while (!word_.compare_exchange_weak(
            value, epoch << epoch_shift, std::memory_order_acq_rel, std::memory_order_acquire));
        return (value & sleep_bit) != 0;
    }

    // The value to hand to reached() and announce_sleep().
    [[nodiscard]] std::uint32_t load() const noexcept {
        // acquire: partner is the exchange in publish().
        return word_.load(std::memory_order_acquire);
    }

    // Whether a value shows epoch or a later one (less than 2^27 later or earlier).
    [[nodiscard]] static constexpr bool reached(std::uint32_t value, std::uint32_t epoch) noexcept {
        return static_cast<std::int32_t>((value & ~low_bits) - (epoch << epoch_shift)) >= 0;
    }

    // Sets the sleep bit if the word still is value. true: value now has the bit and is what the
    // caller sleeps on, after a look for deaths. false: the word changed, value is its new content.
    [[nodiscard]] bool announce_sleep(std::uint32_t& value) noexcept {
        if ((value & sleep_bit) != 0) return true;  // another sleeper set it, and it stands
        // acq_rel: release puts the bit before publish()'s exchange, which then reports it; acquire
        // on both outcomes as load(), for the caller looks at what the epoch stands for.
        if (!word_.compare_exchange_strong(value, value | sleep_bit, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
            return false;
        }
        value |= sleep_bit;
        return true;
    }

    // For a thread that makes sleepers look again without a new epoch (the death watcher): first
    // store what they are to see, then clear, then wake all on word(). true when a thread slept.
    // Besides clearing the bit this increments a counter in the word. Without it two waiting
    // threads A and B would lose a wake: A looks for deaths and finds none; the watcher stores,
    // clears the bit and wakes, with no thread asleep yet; B sets the bit again, so the word has
    // its old value; A falls asleep on that value.
    bool clear_sleep() noexcept {
        // relaxed: a stale value only costs another attempt
        std::uint32_t value = word_.load(std::memory_order_relaxed);
        std::uint32_t next = 0;
        do {
            next = (value & ~low_bits) | ((value + clearing) & clearings);
            // acq_rel: release for a sleeper whose load() or announce_sleep() comes after and which
            // must then see the death; a sleeper whose load() came before finds the word changed
            // and does not sleep. acquire, so that the release covers what earlier publishers
            // released. relaxed on failure: as above.
        } while (!word_.compare_exchange_weak(value, next, std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
        return (value & sleep_bit) != 0;
    }

    // For futex wait and wake only.
    [[nodiscard]] Atomic<std::uint32_t>& word() noexcept { return word_; }

    [[nodiscard]] const Atomic<std::uint32_t>& word() const noexcept { return word_; }

private:
    static constexpr std::uint32_t sleep_bit = 1;
    static constexpr std::uint32_t clearing = 2;
    static constexpr std::uint32_t clearings = 7 * clearing;  // mod 8
    static constexpr std::uint32_t low_bits = clearings | sleep_bit;
    static constexpr unsigned epoch_shift = 4;

    // epoch << 4 | clearings << 1 | sleep bit. Writers: publishers (all of it), waiters (set the
    // bit), the death watcher (clears the bit and counts). Readers: waiters.
    Atomic<std::uint32_t> word_{0};
};

static_assert(sizeof(SleepWord<>) == 4 && alignof(SleepWord<>) == 4);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace acp::sync
