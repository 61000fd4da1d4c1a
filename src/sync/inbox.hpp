// SPDX-License-Identifier: BSD-3-Clause
// A many-producer, one-consumer inbox: a stack of message cells, named by index and linked through
// a word in each cell. The consumer takes the whole stack and turns it into arrival order. Knows
// neither what is in a cell nor who owns free ones. Lives in shared memory; zero is an empty inbox
// with the consumer awake. Any thread of any process may call push(), the consumer alone the rest.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::sync {

// Cell indexes are 1 .. 2^31 - 1; 0 means none. next_of(index) gives the cell's link word, an
// Atomic<uint32_t>&, written by the cell's owner before the push and by the consumer after taking.
//
// If one side dies or stops: a producer that dies before its one publishing instruction has
// published nothing and delays no other producer; the death watcher reclaims its cell. After that
// instruction its message is in. If it dies before it wakes a sleeping consumer, the next producer
// wakes it (the sleep bit stays until the consumer takes), or the watcher, or the consumer's
// timeout. A chain taken by a consumer that dies is lost with it.
template <template <class> class Atomic = std::atomic>
class Inbox {
public:
    struct Pushed {
        bool was_empty;
        bool is_consumer_asleep;  // the caller must wake it on word()
    };

    // Publishes a cell that the caller has filled and owns; from here on the consumer owns it. One
    // compare-and-swap when the inbox is empty and the consumer awake, without a load before it.
    template <typename NextOf>
    Pushed push(std::uint32_t index, NextOf&& next_of) noexcept {
        std::uint32_t head = 0;
        // relaxed: the cell is still ours; the swap below publishes it.
        next_of(index).store(0, std::memory_order_relaxed);
        // release: partner is take_all()'s exchange, the consumer then sees the cell and its link,
        // and through the release sequence of the head all cells below it. seq_cst for a producer
        // that then loads another word on which the consumer sleeps; partner: is_empty() of a
        // consumer that announced its sleep on that word. relaxed on failure: the producer uses the
        // index alone and reads no cell that it names.
        while (!head_.compare_exchange_weak(head, index | (head & sleep_bit),
                                            std::memory_order_seq_cst, std::memory_order_relaxed)) {
            // relaxed: the cell is still ours
            next_of(index).store(head & ~sleep_bit, std::memory_order_relaxed);
        }
        return {(head & ~sleep_bit) == 0, (head & sleep_bit) != 0};
    }

    // Takes all cells, leaves the inbox empty and marks the consumer awake. Returns the newest
    // cell's index, linked to older ones down to 0; 0 when there is none. Looking at an empty inbox
    // is one load.
    [[nodiscard]] std::uint32_t take_all() noexcept {
        // relaxed: only decides whether to exchange.
        if (head_.load(std::memory_order_relaxed) == 0) return 0;
        // acquire: partner is push()'s swap.
        return head_.exchange(0, std::memory_order_acquire) & ~sleep_bit;
    }

    // Reverses a chain of take_all() so that it runs from the oldest to the newest. Returns the
    // oldest cell's index.
    template <typename NextOf>
    [[nodiscard]] static std::uint32_t oldest_first(std::uint32_t chain,
                                                    NextOf&& next_of) noexcept {
        std::uint32_t newer = 0;
        while (chain != 0) {
            auto& link = next_of(chain);
            // relaxed, both: the chain belongs to the consumer since take_all()'s acquire.
            const std::uint32_t older = link.load(std::memory_order_relaxed);
            link.store(newer, std::memory_order_relaxed);
            newer = chain;
            chain = older;
        }
        return newer;
    }

    // Whether take_all() would find nothing. For polling: one load.
    [[nodiscard]] bool is_empty() const noexcept {
        // seq_cst: partner is push(), for a consumer that announced its sleep on another word;
        // take_all() does the rest of the ordering.
        return (head_.load(std::memory_order_seq_cst) & ~sleep_bit) == 0;
    }

    // Marks the consumer as sleeping on word(), if the inbox is empty. true: sleep while word() is
    // asleep_value. false: cells are there to take.
    [[nodiscard]] bool announce_sleep() noexcept {
        std::uint32_t head = 0;
        // acq_rel: release puts the mark before the swap of a later push(), which then reports it;
        // acquire so that a look for deaths after it is not done before it. Failure: take_all()
        // does the ordering.
        return head_.compare_exchange_strong(head, asleep_value, std::memory_order_acq_rel,
                                             std::memory_order_relaxed) ||
               head == asleep_value;
    }

    // Clears the mark: by the consumer after waking, or by the death watcher between storing what
    // the sleeper is to see and waking it. true when the mark was set.
    bool clear_sleep() noexcept {
        // acq_rel: release for an announce_sleep() that follows, which must see the death; acquire
        // keeps the chain of earlier pushes intact for the consumer.
        return (head_.fetch_and(~sleep_bit, std::memory_order_acq_rel) & sleep_bit) != 0;
    }

    static constexpr std::uint32_t sleep_bit = std::uint32_t{1} << 31;
    static constexpr std::uint32_t asleep_value = sleep_bit;

    // The newest cell's index, 0 for none. A hint, to fetch the cell early: one load.
    [[nodiscard]] std::uint32_t newest() const noexcept {
        // relaxed: the index alone; does not order the caller's reads of the cell
        return head_.load(std::memory_order_relaxed) & ~sleep_bit;
    }

    // For futex wait and wake only.
    [[nodiscard]] Atomic<std::uint32_t>& word() noexcept { return head_; }

    [[nodiscard]] const Atomic<std::uint32_t>& word() const noexcept { return head_; }

private:
    // Index of the newest cell, 0 for none, and the sleep bit. Writers: producers (push), consumer
    // (take, mark), death watcher (clear the mark). Readers: the consumer.
    Atomic<std::uint32_t> head_{0};
};

static_assert(sizeof(Inbox<>) == 4 && alignof(Inbox<>) == 4);

}  // namespace acp::sync
