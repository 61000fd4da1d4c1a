// SPDX-License-Identifier: BSD-3-Clause
// The path between the ends of a ring that both have the ring's memory mapped: loads and stores.
// Knows nothing of records; ring.hpp defines its operations. For the thread that uses the end.
// Tests: tests/unit/message.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "message/payload_copy.hpp"
#include "sync/bell.hpp"

namespace acp::message {

template <template <class> class Atomic = std::atomic>
class MappedPath {
public:
    using Word = Atomic<std::uint64_t>;
    using PeerBell = sync::Bell<Atomic>;

    // How a store is ordered before the check of the peer's bell, and the peer's announcement
    // before its last poll.
    enum class Fence : std::uint8_t {
        by_sleeper,  // the sleeper alone executes a barrier on all CPUs (os::expedite)
        // Where the kernel refuses that barrier: the storing thread uses an exchange, the sleeper a
        // seq_cst fence.
        by_each
    };

    //   memory  of the ring; must outlive this, and so must the bell
    //   peer    the bell on which the thread at the other end sleeps
    MappedPath(char* memory, PeerBell& peer, Fence fence) noexcept
        : memory_(memory), peer_(&peer), is_fence_by_each_(fence == Fence::by_each) {}

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(memory_ + offset);
    }

    [[nodiscard]] char* room(std::uint64_t offset) const noexcept { return memory_ + offset; }

    // See FarSenderPath; here the ring is the only limit.
    [[nodiscard]] static std::uint64_t payload_bytes_max(std::uint64_t /*wanted*/) noexcept {
        return ~std::uint64_t{0};
    }

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const noexcept {
        if (source != memory_ + offset) copy_payload(memory_ + offset, source, bytes);
    }

    void store(std::uint64_t offset, std::uint64_t value) const noexcept {
        // release: orders earlier place() and store() before it; partner: the acquire loads of the
        // other end
        word(offset).store(value, std::memory_order_release);
    }

    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) const noexcept {
        if (is_fence_by_each_) [[unlikely]] {
            word(offset).exchange(value, std::memory_order_seq_cst);  // partner: Bell::announce()
        } else {
            store(offset, value);
            // The sleeper's expedited barrier orders the processor, this fence the compiler;
            // partner: os::expedite() of the sleeper.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        return ring();
    }

    [[nodiscard]] bool ring() const noexcept { return peer_->ring(); }

    // The bell on which the thread at the other end sleeps.
    [[nodiscard]] PeerBell& peer() const noexcept { return *peer_; }

    // Stores take effect at once: no operation is ever in flight.

    [[nodiscard]] static bool may_send() noexcept { return true; }

    [[nodiscard]] static bool is_cut_off() noexcept { return false; }

    static void probe() noexcept {}

    [[nodiscard]] static bool is_idle() noexcept { return true; }

    static void settle() noexcept {}

private:
    char* memory_;
    PeerBell* peer_;
    bool is_fence_by_each_;
};

}  // namespace acp::message
