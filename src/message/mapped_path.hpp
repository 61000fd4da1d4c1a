// SPDX-License-Identifier: BSD-3-Clause
// The path of one end of a ring to the other end where both have the ring's memory mapped: loads and stores. Knows nothing of records;
// what it is asked for says ring.hpp. For the thread that uses the end.
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

    // What orders a store before the look at the peer's bell, and, at the peer, the announcement before its last look.
    enum class Fence : std::uint8_t {
        by_sleeper,  // the sleeper alone, by a barrier on the CPUs of all (os::expedite)
        by_each  // where the kernel refuses that: whoever stores, by an exchange; the sleeper, by a sequentially consistent fence
    };

    //   memory  of the ring; outlives this, as does the bell
    //   peer    what the thread at the other end sleeps on
    MappedPath(char* memory, PeerBell& peer, Fence fence) noexcept
        : memory_(memory), peer_(&peer), is_fence_by_each_(fence == Fence::by_each) {}

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(memory_ + offset);
    }

    [[nodiscard]] char* room(std::uint64_t offset) const noexcept { return memory_ + offset; }

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const noexcept {
        if (source != memory_ + offset) copy_payload(memory_ + offset, source, bytes);
    }

    void store(std::uint64_t offset, std::uint64_t value) const noexcept {
        // release: partner are the acquiring loads of the other end; what was placed or stored before comes first
        word(offset).store(value, std::memory_order_release);
    }

    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) const noexcept {
        if (is_fence_by_each_) [[unlikely]] {
            word(offset).exchange(value, std::memory_order_seq_cst);  // partner: Bell::announce()
        } else {
            store(offset, value);
            // The processor is held by the sleeper's barrier, the compiler by this; partner: os::expedite() of the sleeper.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        return ring();
    }

    [[nodiscard]] bool ring() const noexcept { return peer_->ring(); }

    // What the thread at the other end sleeps on.
    [[nodiscard]] PeerBell& peer() const noexcept { return *peer_; }

    // What is stored is there: nothing is ever under way.

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
