// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a ring of equal records between two processes that do not trust each other's
// memory: an impossible counter stops the end that reads it and nothing else. Knows nothing of what
// a record means. One thread at a time uses the RecordProducer of a ring, and one the
// RecordConsumer. Both objects are in private memory; a thread that takes over an end makes a new
// one.
//
// If one end dies or stops: a producer that dies before publish() has published nothing, and its
// successor fills the same cells again. A consumer that dies before release() leaves the records to
// its successor, which gets them again. Neither end waits for the other.
// Tests: tests/unit/remote/record_ring_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::remote {

// The memory that both ends share: the records, their number (a power of two) and the two counters,
// which only grow.
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
          // relaxed: only a producer writes it, and an earlier producer ended before this one began
          written_(ring.published->load(std::memory_order_relaxed)),
          published_(written_),
          // acquire: partner is release(); the records given back are no longer read
          taken_(ring.taken->load(std::memory_order_acquire)) {}

    // The next cell to fill; nullptr when the ring is full. A second call without push() returns
    // the same cell.
    [[nodiscard]] Record* reserve() noexcept {
        // An impossible counter gives a difference beyond the capacity, and so counts as a full
        // ring.
        if (written_ - taken_ >= ring_.capacity) {
            // acquire: partner is release()
            taken_ = ring_.taken->load(std::memory_order_acquire);
            if (written_ - taken_ >= ring_.capacity) return nullptr;
        }
        return &ring_.records[written_ & (ring_.capacity - 1)];
    }

    // Counts the cell of the last reserve() as filled; the consumer does not see it before
    // publish().
    void push() noexcept { ++written_; }

    // Publishes all pushed records. true when there were any. seq_cst, because the producer then
    // loads the word on which the consumer may sleep; partner: the consumer's has_news() after it
    // announced its sleep.
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
    std::uint64_t taken_;  // the consumer's counter when last read
};

template <typename Record, template <class> class Atomic = std::atomic>
class RecordConsumer {
public:
    explicit RecordConsumer(const RecordRing<Record, Atomic>& ring) noexcept
        : ring_(ring),
          // relaxed: only a consumer writes it, and an earlier consumer ended before this one began
          read_(ring.taken->load(std::memory_order_relaxed)),
          published_(read_) {}

    // The oldest record not yet taken, in the ring. Copy it out before checking it, because the
    // producer may overwrite it at any time. nullptr when there is none, or the ring is broken.
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

    // Call after the record of the last front() was copied out.
    void pop() noexcept { ++read_; }

    // Returns the cells of all popped records to the producer.
    void release() noexcept {
        // release: partner is reserve(); our reads are over before the producer writes the cells
        // again
        ring_.taken->store(read_, std::memory_order_release);
    }

    // Whether front() may find a record. One load.
    [[nodiscard]] bool has_news() const noexcept {
        // seq_cst: partner is publish(), for a consumer that announced its sleep before
        return published_ != read_ ||
               (!is_broken_ && ring_.published->load(std::memory_order_seq_cst) != read_);
    }

    // Whether the producer's counter was impossible; then it is not read again.
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

private:
    RecordRing<Record, Atomic> ring_;
    std::uint64_t read_;
    std::uint64_t published_;  // the producer's counter when last read
    bool is_broken_ = false;
};

}  // namespace acp::remote
