// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a ring of equal records between two processes that do not trust each other's memory: a
// counter that makes no sense stops the end that reads it and nobody else. Knows nothing of what a record means.
// One thread at a time is the RecordProducer of a ring, one the RecordConsumer; both are objects of the thread, not
// of the shared memory, and a successor makes a new one.
//
// Whose death or stop does what: a producer that ends before publish() has published nothing, its successor fills
// the same cells anew. A consumer that ends before release() leaves the records to its successor, which gets them
// again. Neither waits for the other.
// Tests: tests/unit/remote/record_ring_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::remote {

// What both ends share: the records, their number (a power of two) and the two counters, which only grow.
template <typename Record, template <class> class Atomic = std::atomic>
struct RecordRing {
    Record* records = nullptr;
    std::uint64_t capacity = 0;
    Atomic<std::uint64_t>* published = nullptr;  // writer: the producer
    Atomic<std::uint64_t>* taken = nullptr;      // writer: the consumer
};

template <typename Record, template <class> class Atomic = std::atomic>
class RecordProducer {
public:
    explicit RecordProducer(const RecordRing<Record, Atomic>& ring) noexcept
        : ring_(ring),
          // relaxed: only a producer writes it, and a predecessor's end happened before us
          written_(ring.published->load(std::memory_order_relaxed)),
          published_(written_),
          // acquire: partner is release(); the records given back are no longer read
          taken_(ring.taken->load(std::memory_order_acquire)) {}

    // The next cell to fill; nullptr when there is none. Asking again without push() gives the same.
    [[nodiscard]] Record* reserve() noexcept {
        // Counters that make no sense show a difference beyond the capacity: then there is no room.
        if (written_ - taken_ >= ring_.capacity) {
            taken_ = ring_.taken->load(std::memory_order_acquire);  // as in the constructor
            if (written_ - taken_ >= ring_.capacity) return nullptr;
        }
        return &ring_.records[written_ & (ring_.capacity - 1)];
    }

    // The cell of the last reserve() is full; nobody sees it yet.
    void push() noexcept { ++written_; }

    // Shows all that was pushed. true when there was something. Sequentially consistent, for producers that go on to
    // look whether the consumer sleeps; partner: the consumer's has_news() after it announced that.
    bool publish() noexcept {
        if (written_ == published_) return false;
        published_ = written_;
        ring_.published->exchange(written_, std::memory_order_seq_cst);
        return true;
    }

private:
    RecordRing<Record, Atomic> ring_;
    std::uint64_t written_;
    std::uint64_t published_;
    std::uint64_t taken_;  // the consumer's, as last seen
};

template <typename Record, template <class> class Atomic = std::atomic>
class RecordConsumer {
public:
    explicit RecordConsumer(const RecordRing<Record, Atomic>& ring) noexcept
        : ring_(ring),
          // relaxed: only a consumer writes it, and a predecessor's end happened before us
          read_(ring.taken->load(std::memory_order_relaxed)),
          published_(read_) {}

    // The oldest record not yet taken, in the ring: to be copied out before it is looked at, for its producer
    // may write what it likes at any time. nullptr when there is none, or the ring is broken.
    [[nodiscard]] const Record* front() noexcept {
        if (published_ == read_) {
            // acquire: partner is publish(); the records are complete
            const std::uint64_t published = ring_.published->load(std::memory_order_acquire);
            is_broken_ = is_broken_ || published - read_ > ring_.capacity;
            if (is_broken_) return nullptr;
            published_ = published;
            if (published_ == read_) return nullptr;
        }
        return &ring_.records[read_ & (ring_.capacity - 1)];
    }

    // The record of the last front() was copied out.
    void pop() noexcept { ++read_; }

    // Gives the cells of all that was popped back.
    void release() noexcept {
        // release: partner is reserve(); our reading is over before the producer writes
        ring_.taken->store(read_, std::memory_order_release);
    }

    // Whether front() may find something. One load; any thread may ask a ring's counters instead.
    [[nodiscard]] bool has_news() const noexcept {
        // seq_cst: partner is publish(), for a consumer that announced its sleep
        return published_ != read_ ||
               (!is_broken_ && ring_.published->load(std::memory_order_seq_cst) != read_);
    }

    // The producer's counter made no sense: it is not looked at again.
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

private:
    RecordRing<Record, Atomic> ring_;
    std::uint64_t read_;
    std::uint64_t published_;  // the producer's, as last seen
    bool is_broken_ = false;
};

}  // namespace acp::remote
