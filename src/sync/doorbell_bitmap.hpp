// SPDX-License-Identifier: BSD-3-Clause
// Which of up to 1024 producers have published data for one consumer: a bit each, and a summary
// word with a bit for each word of bits, so that an idle poll is one load whatever the number of
// producers. Knows nothing of what is published. Lives in shared memory; zero means that no bit is
// set and the consumer is awake. Any thread of any process may call set(), the consumer alone the
// rest.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace acp::sync {

inline constexpr std::uint32_t doorbell_bits_max = 1024;
inline constexpr std::uint32_t doorbell_words = doorbell_bits_max / 64;

// If one side dies or stops: a producer that dies before its bit is in the summary has not rung.
// The bit it may have left is found with the next ring in the same word, or when the consumer,
// after a death, calls take() on every word. No other producer waits for it or skips its own ring
// because of it. After the consumer's death its successor calls take() on every word once.
template <template <class> class Atomic = std::atomic>
class alignas(64) DoorbellBitmap {
public:
    // Rings bell i (0 .. doorbell_bits_max - 1), after the caller stored what it announces. true
    // when the consumer sleeps: the caller must wake it on word().
    bool set(std::uint32_t i) noexcept {
        // release: partner is take(); the consumer then sees what is announced.
        words_[i / 64].fetch_or(std::uint64_t{1} << (i % 64), std::memory_order_release);
        // release: partner is take_summary(); the consumer then sees the bit above. The producer
        // does this even if it has seen the summary bit set: this read-modify-write comes either
        // after the consumer's exchange (the bit stays for the next poll) or before it (the
        // exchange takes the bit). seq_cst for a producer that then loads another word on which the
        // consumer sleeps; partner: is_silent() of a consumer that announced its sleep on that
        // word.
        return (summary_.fetch_or(std::uint32_t{1} << (i / 64), std::memory_order_seq_cst) &
                sleep_bit) != 0;
    }

    // Returns a bit for each word that the consumer must take(), clears the summary, and marks the
    // consumer awake. 0 when no bell rang: one load.
    [[nodiscard]] std::uint32_t take_summary() noexcept {
        // relaxed: only decides whether to exchange.
        if (summary_.load(std::memory_order_relaxed) == 0) return 0;
        // acq_rel: acquire for set()'s second step; release has no partner but keeps earlier takes
        // before the moment the summary is clear.
        return summary_.exchange(0, std::memory_order_acq_rel) & ~sleep_bit;
    }

    // The bits of one word (0 .. doorbell_words - 1), cleared.
    [[nodiscard]] std::uint64_t take(std::uint32_t word) noexcept {
        // relaxed: only decides whether to exchange; set() rings the summary after the bit, so a
        // bit missed here is announced again.
        if (words_[word].load(std::memory_order_relaxed) == 0) return 0;
        // acq_rel: acquire for set()'s first step; release so that a producer whose next ring reads
        // this zero sees all that the consumer did before.
        return words_[word].exchange(0, std::memory_order_acq_rel);
    }

    // Calls visit(i) for every bell that rang, clearing it; returns how many. visit may ring.
    template <typename Visit>
    std::uint32_t take_all(Visit&& visit) {
        std::uint32_t count = 0;
        for (std::uint32_t summary = take_summary(); summary != 0; summary &= summary - 1) {
            const auto word = static_cast<std::uint32_t>(std::countr_zero(summary));
            for (std::uint64_t bits = take(word); bits != 0; bits &= bits - 1) {
                visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
                ++count;
            }
        }
        return count;
    }

    // Whether no bell rang since the last take_summary(). One load.
    [[nodiscard]] bool is_silent() const noexcept {
        // seq_cst: partner is set(), for a consumer that announced its sleep on another word.
        return (summary_.load(std::memory_order_seq_cst) & ~sleep_bit) == 0;
    }

    // Marks the consumer as sleeping on word(), if no bell rang. true: sleep while word() is
    // asleep_value. false: a bell rang; take its bit first.
    [[nodiscard]] bool announce_sleep() noexcept {
        std::uint32_t summary = 0;
        // acq_rel: release puts the mark before a later set(), which then reports it; acquire so
        // that a look for deaths after it is not done before it. Failure: the takes do the
        // ordering.
        return summary_.compare_exchange_strong(summary, asleep_value, std::memory_order_acq_rel,
                                                std::memory_order_relaxed) ||
               summary == asleep_value;
    }

    // Clears the mark: by the consumer after waking, or by the death watcher between storing what
    // the sleeper is to see and waking it. true when the mark was set.
    bool clear_sleep() noexcept {
        // acq_rel: release for an announce_sleep() that follows, which must see the death; acquire
        // keeps earlier rings visible to the consumer.
        return (summary_.fetch_and(~sleep_bit, std::memory_order_acq_rel) & sleep_bit) != 0;
    }

    static constexpr std::uint32_t sleep_bit = std::uint32_t{1} << 31;
    static constexpr std::uint32_t asleep_value = sleep_bit;

    // For futex wait and wake only.
    [[nodiscard]] Atomic<std::uint32_t>& word() noexcept { return summary_; }

    [[nodiscard]] const Atomic<std::uint32_t>& word() const noexcept { return summary_; }

private:
    static_assert(doorbell_words <= 31);

    // Bit w: a bit of words_[w] was set; bit 31: the consumer sleeps. Writers: producers (set),
    // consumer (take, mark), death watcher (clear the mark). Reader: the consumer.
    Atomic<std::uint32_t> summary_{0};
    std::uint32_t unused_ = 0;
    // Bit i % 64 of word i / 64: bell i rang. Writers: producers (set), consumer (clears). Reader:
    // the consumer. The first seven share the summary's line: up to 448 producers touch one line.
    Atomic<std::uint64_t> words_[doorbell_words] = {};
};

static_assert(sizeof(DoorbellBitmap<>) == 192 && alignof(DoorbellBitmap<>) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace acp::sync
