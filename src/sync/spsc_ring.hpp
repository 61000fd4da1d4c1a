// SPDX-License-Identifier: BSD-3-Clause
// A ring of datagrams from one producer to one consumer: a power-of-two number of equal cells, each a
// 16-byte header and room for a payload, behind two counters. Knows nothing of what a datagram means,
// of sleeping, or of who sits at the other end. Lives in shared memory; zero is an empty ring. One
// thread at a time is the RingProducer, one the RingConsumer.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace acp::sync {

// First 16 bytes of a cell. Writer: the producer before publishing. Reader: the consumer until pop.
struct RingCell {
    std::uint32_t bytes;  // of payload, <= RingGeometry::payload_bytes_max
    std::uint32_t kind;   // the user's
    std::uint64_t tag;    // the user's
};

static_assert(sizeof(RingCell) == 16 && alignof(RingCell) == 8);

// The shape both ends must agree on; not stored in the ring.
struct RingGeometry {
    std::uint32_t cells;              // a power of two, 1 .. 2^20
    std::uint32_t payload_bytes_max;  // 1 .. 2^20

    [[nodiscard]] constexpr bool is_valid() const noexcept {
        return std::has_single_bit(cells) && cells <= (1U << 20) && payload_bytes_max >= 1 &&
               payload_bytes_max <= (1U << 20);
    }

    // Header and payload, rounded up to cache lines so that neighbours do not share one.
    [[nodiscard]] constexpr std::uint64_t cell_bytes() const noexcept {
        return (sizeof(RingCell) + std::uint64_t{payload_bytes_max} + 63) & ~std::uint64_t{63};
    }

    // Of the whole ring: counters and cells. The memory must be aligned to 64.
    [[nodiscard]] constexpr std::uint64_t ring_bytes() const noexcept {
        return 128 + cells * cell_bytes();
    }
};

// The counters at the ring's start, each on a line of its own; both only grow and never wrap in
// practice (2^64 datagrams).
//
// Whose death or stop does what: a producer that ends while it fills a cell has published nothing;
// the cell is filled anew by its successor. A consumer that ends before pop() leaves the datagram to
// its successor, which gets it again. Neither end waits for the other.
template <template <class> class Atomic = std::atomic>
struct RingCounters {
    // Datagrams published. Writer: the producer. Reader: the consumer.
    alignas(64) Atomic<std::uint64_t> published{0};
    // Datagrams given back. Writer: the consumer. Reader: the producer.
    alignas(64) Atomic<std::uint64_t> consumed{0};
};

static_assert(sizeof(RingCounters<>) == 128 && alignof(RingCounters<>) == 64);

// The producing end. An object of the producing thread, not of the shared memory; a successor after
// a death makes a new one.
template <template <class> class Atomic = std::atomic>
class RingProducer {
public:
    // memory: ring_bytes() of the geometry, 64-aligned, outlives the object.
    RingProducer(void* memory, RingGeometry geometry) noexcept
        : counters_(static_cast<RingCounters<Atomic>*>(memory)),
          cells_(static_cast<std::byte*>(memory) + sizeof(RingCounters<Atomic>)),
          cell_bytes_(geometry.cell_bytes()),
          cell_count_(geometry.cells),
          payload_bytes_max_(geometry.payload_bytes_max),
          // relaxed: only a producer writes it, and a predecessor's end happened before us.
          published_(counters_->published.load(std::memory_order_relaxed)),
          // acquire: partner is pop(); the cells given back are no longer read.
          consumed_(counters_->consumed.load(std::memory_order_acquire)) {}

    // The next cell's payload to fill in place; nullptr when the ring is full. Asking again without
    // publishing gives the same cell.
    [[nodiscard]] std::byte* reserve() noexcept {
        if (published_ - consumed_ == cell_count_) {
            // acquire: partner is pop(); the consumer has read the cell before we write it.
            consumed_ = counters_->consumed.load(std::memory_order_acquire);
            if (published_ - consumed_ == cell_count_) return nullptr;
        }
        return cell() + sizeof(RingCell);
    }

    // Publishes the cell of the last reserve().  header.bytes <= payload_bytes_max
    void publish(const RingCell& header) noexcept {
        std::memcpy(cell(), &header, sizeof header);
        ++published_;
        // release: partner is front(); the consumer sees header and payload.
        counters_->published.store(published_, std::memory_order_release);
    }

    // Copies one datagram in. false when the ring is full or the payload too long.
    [[nodiscard]] bool push(std::uint32_t kind,
                            std::uint64_t tag,
                            std::span<const std::byte> payload) noexcept {
        if (payload.size() > payload_bytes_max_) return false;
        std::byte* target = reserve();
        if (target == nullptr) return false;
        if (!payload.empty()) std::memcpy(target, payload.data(), payload.size());
        publish({static_cast<std::uint32_t>(payload.size()), kind, tag});
        return true;
    }

private:
    [[nodiscard]] std::byte* cell() const noexcept {
        return cells_ + (published_ & (cell_count_ - 1)) * cell_bytes_;
    }

    RingCounters<Atomic>* counters_;
    std::byte* cells_;
    std::uint64_t cell_bytes_;
    std::uint64_t cell_count_;
    std::uint32_t payload_bytes_max_;
    std::uint64_t published_;  // our own counter
    std::uint64_t consumed_;   // the consumer's, as last seen
};

// The consuming end; otherwise as RingProducer.
template <template <class> class Atomic = std::atomic>
class RingConsumer {
public:
    struct Datagram {
        std::uint32_t kind = 0;
        std::uint64_t tag = 0;
        std::span<const std::byte> payload;  // in the ring, valid until pop()
    };

    RingConsumer(void* memory, RingGeometry geometry) noexcept
        : counters_(static_cast<RingCounters<Atomic>*>(memory)),
          cells_(static_cast<const std::byte*>(memory) + sizeof(RingCounters<Atomic>)),
          cell_bytes_(geometry.cell_bytes()),
          cell_count_(geometry.cells),
          payload_bytes_max_(geometry.payload_bytes_max),
          // relaxed: only a consumer writes it, and a predecessor's end happened before us.
          consumed_(counters_->consumed.load(std::memory_order_relaxed)),
          published_(consumed_) {}

    // The oldest datagram not yet popped. false when there is none: one load.
    [[nodiscard]] bool front(Datagram& datagram) noexcept {
        if (published_ == consumed_) {
            // acquire: partner is publish(); header and payload are complete.
            published_ = counters_->published.load(std::memory_order_acquire);
            if (published_ == consumed_) return false;
        }
        const std::byte* cell = cells_ + (consumed_ & (cell_count_ - 1)) * cell_bytes_;
        RingCell header;
        std::memcpy(&header, cell, sizeof header);
        // A damaged length must not lead outside the cell.
        const std::uint32_t bytes =
            header.bytes <= payload_bytes_max_ ? header.bytes : payload_bytes_max_;
        datagram = {header.kind, header.tag, {cell + sizeof(RingCell), bytes}};
        return true;
    }

    // Gives the cell of the last front() back.
    void pop() noexcept {
        ++consumed_;
        // release: partner is reserve(); our reading is over before the producer writes.
        counters_->consumed.store(consumed_, std::memory_order_release);
    }

private:
    RingCounters<Atomic>* counters_;
    const std::byte* cells_;
    std::uint64_t cell_bytes_;
    std::uint64_t cell_count_;
    std::uint32_t payload_bytes_max_;
    std::uint64_t consumed_;   // our own counter
    std::uint64_t published_;  // the producer's, as last seen
};

}  // namespace acp::sync
