// SPDX-License-Identifier: BSD-3-Clause
// The path from the receiver of a ring of the pool to its sender. The ring is in the receiver's
// memory. A sender on this node reads credits and requests there; to a sender on another node they
// are sent. Which kind the sender is becomes known with its first record. For the receiver's
// thread. Tests: tests/unit/pm/pool_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "message/far_credits.hpp"
#include "sync/bell.hpp"
#include "sync/lease.hpp"

namespace acp::pm {

template <template <class> class Atomic = std::atomic>
class InletPath {
public:
    using Word = Atomic<std::uint64_t>;
    using PeerBell = sync::Bell<Atomic>;
    using Fence = typename sync::WriteLease<Atomic>::Fence;

    InletPath(char* memory, Fence fence) noexcept
        : memory_(memory), is_fence_by_each_(fence == Fence::by_each) {}

    // The sender is on this node and sleeps on this bell.
    void set_near(PeerBell& bell) noexcept {
        bell_ = &bell;
        credits_ = nullptr;
    }

    // The sender is on another node.
    //   credits  must outlive their use here
    void set_far(message::FarCredits& credits) noexcept {
        bell_ = nullptr;
        credits_ = &credits;
    }

    void set_unknown() noexcept {
        bell_ = nullptr;
        credits_ = nullptr;
    }

    [[nodiscard]] bool is_far() const noexcept { return credits_ != nullptr; }

    // Always true: a word that cannot be issued now waits in FarCredits.
    [[nodiscard]] static bool may_send() noexcept { return true; }

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(memory_ + offset);
    }

    [[nodiscard]] char* room(std::uint64_t offset) const noexcept { return memory_ + offset; }

    void store(std::uint64_t offset, std::uint64_t value) const noexcept {
        if (credits_ != nullptr) return credits_->carry(offset, value);
        // release: orders the zeros before it; partner: the sender's acquire load
        word(offset).store(value, std::memory_order_release);
    }

    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) const noexcept {
        if (is_fence_by_each_ && credits_ == nullptr) {
            word(offset).exchange(value, std::memory_order_seq_cst);  // partner: Bell::announce()
        } else {
            store(offset, value);
            // The sleeper's barrier orders the processor, this fence the compiler.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        return bell_ != nullptr && bell_->ring();
    }

private:
    char* memory_;
    PeerBell* bell_ = nullptr;
    message::FarCredits* credits_ = nullptr;
    bool is_fence_by_each_;
};

}  // namespace acp::pm
