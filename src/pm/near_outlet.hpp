// SPDX-License-Identifier: BSD-3-Clause
// The outlet to the pool of a process of this node: a lease of one of its rings, taken for the
// first message and again after each revocation, and the sender's end of that ring. For the thread
// that uses the context. Tests: tests/unit/pm.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>

#include "message/mapped_path.hpp"
#include "message/ring.hpp"

#include "pm/pool_layout.hpp"

namespace acp::pm {

// A Host provides: fence(), as for ReceivePool; process(), the calling one; wake(process).
template <typename Host, template <class> class Atomic = std::atomic>
class NearOutlet {
public:
    using NearPath = message::MappedPath<Atomic>;

    struct OutletPlace {
        std::uint32_t process = 0;                    // the destination
        char* pool = nullptr;                         // its pool
        sync::WriterNote<Atomic>* note = nullptr;     // this process's note
        typename NearPath::PeerBell* bell = nullptr;  // the destination's bell
    };

    //   host, and what place names, must outlive this
    NearOutlet(Host& host, const OutletPlace& place) noexcept : host_(host), place_(place) {}

    NearOutlet(const NearOutlet&) = delete;
    NearOutlet& operator=(const NearOutlet&) = delete;
    ~NearOutlet() = default;

    // Reserves room for a message, until commit() or cancel(). nullptr: there is none now.
    //   bytes  <= message_bytes_max
    [[nodiscard]] char* reserve(std::uint64_t bytes) noexcept {
        if (!is_announced_ || enter() != sync::LeaseEntry::open) [[unlikely]]
            return reserve_anew(bytes);
        return reserve_in_ring(bytes);
    }

    // Sends the first `bytes` bytes of the reserved room.
    void commit(std::uint64_t bytes) noexcept { send(bytes, PoolRecord::message); }

    // Discards the reservation.
    void cancel() noexcept { lease().leave(*place_.note, ring_->next()); }

    // Answers the receiver's request for a header.
    void serve() noexcept {
        if (ring_.has_value()) ring_->serve();
    }

    // Whether the receiver has released all records, or revoked the lease: then the outlet may be
    // destroyed.
    [[nodiscard]] bool is_settled() noexcept {
        if (!ring_.has_value() || ring_->is_released(ring_->next())) return true;
        const sync::LeaseState now = lease().state();
        return now.is_sound() && now.generation() != mine_.generation();
    }

private:
    using PoolFence = typename sync::WriteLease<Atomic>::Fence;

    [[nodiscard]] sync::LeaseDesk<Atomic>& desk() const noexcept {
        return *reinterpret_cast<sync::LeaseDesk<Atomic>*>(place_.pool);
    }

    [[nodiscard]] sync::LeaseEntry enter() noexcept {
        return lease().enter(mine_, *place_.note, note_, lease_fence());
    }

    // Requires a successful enter().
    [[nodiscard]] char* reserve_in_ring(std::uint64_t bytes) noexcept {
        char* const room = ring_->reserve(bytes);
        if (room == nullptr) [[unlikely]]
            cancel();
        return room;
    }

    // Reserves room if there is no lease, if it was revoked, or if the receiver does not know its
    // holder.
    [[nodiscard]] [[gnu::noinline]] char* reserve_anew(std::uint64_t bytes) noexcept {
        for (;;) {
            if (!ring_.has_value() && !take()) return nullptr;
            switch (enter()) {
                case sync::LeaseEntry::open:
                    if (is_announced_ || announce()) return reserve_in_ring(bytes);
                    cancel();
                    return nullptr;
                case sync::LeaseEntry::not_now:
                    return nullptr;
                case sync::LeaseEntry::revoked:
                    ring_.reset();
                    mine_ = {};
                    is_announced_ = false;
            }
        }
    }

    [[nodiscard]] sync::WriteLease<Atomic> lease() const noexcept {
        return sync::WriteLease<Atomic>(line_->words, index_);
    }

    [[nodiscard]] PoolFence lease_fence() const noexcept { return host_.fence(); }

    // Takes any free lease. Processes begin the search at different leases.
    [[nodiscard]] bool take() noexcept {
        if (mine_.is_sound()) return open();  // open() had no memory before
        for (std::uint32_t i = 0; i < leases; ++i) {
            index_ = (host_.process() + i) % leases;
            line_ = reinterpret_cast<sync::LeasedLine<Atomic>*>(place_.pool + lease_offset(index_));
            mine_ = lease().take(held_by(host_.process()));
            if (mine_.is_sound()) return open();
        }
        desk().wanted.store(1, std::memory_order_seq_cst);  // seq_cst: partner: Bell::announce()
        wake_if(place_.bell->ring());
        return false;
    }

    [[nodiscard]] bool open() noexcept {
        const auto fence = lease_fence() == PoolFence::by_each ? NearPath::Fence::by_each
                                                               : NearPath::Fence::by_sleeper;
        note_ = place_of(place_.process, index_);
        is_announced_ = false;
        try {
            ring_.emplace(NearPath(place_.pool + ring_offset(index_), *place_.bell, fence),
                          ring_shape, key_of(index_, mine_.generation()));
        } catch (const std::bad_alloc&) {
            return false;  // the lease stays taken for the next attempt
        }
        return true;
    }

    [[nodiscard]] bool announce() noexcept {
        const Hello hello{host_.process(), 0, 0};
        char* const room = ring_->reserve(sizeof hello);
        if (room == nullptr) return false;
        std::memcpy(room, &hello, sizeof hello);
        wake_if(ring_->commit(sizeof hello, static_cast<std::uint8_t>(PoolRecord::hello)));
        is_announced_ = true;
        return true;
    }

    void send(std::uint64_t bytes, PoolRecord tag) noexcept {
        wake_if(ring_->commit(bytes, static_cast<std::uint8_t>(tag)));
        lease().leave(*place_.note, ring_->next());
        // seq_cst: if the receiver has no barrier, after the header's exchange; partner:
        // ReceivePool::end_watch()
        if (line_->is_watched.load(std::memory_order_seq_cst) == 0) [[unlikely]]
            call();
    }

    void call() noexcept {
        // release: publishes the record; partner: ReceivePool::find(). seq_cst: before the check of
        // the bell
        desk().calls.fetch_or(std::uint64_t{1} << index_, std::memory_order_seq_cst);
        wake_if(place_.bell->ring());
    }

    void wake_if(bool is_due) noexcept {
        if (is_due) host_.wake(place_.process);
    }

    Host& host_;
    OutletPlace place_;
    std::uint32_t index_ = 0;                   // index of the lease
    sync::LeasedLine<Atomic>* line_ = nullptr;  // the lease's line, after the first take()
    bool is_announced_ = false;  // the Hello was sent under this lease; false without ring_
    sync::LeaseState mine_;
    std::uint64_t note_ = 0;  // names this ring in the note
    std::optional<message::RingSender<NearPath, PoolRingShape>> ring_;  // nullopt: no lease
};

}  // namespace acp::pm
