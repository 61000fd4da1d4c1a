// SPDX-License-Identifier: BSD-3-Clause
// A context of PM messages: the pool by which its process hears all others, and its ways to those it sends to, by shared memory or by the network,
// chosen for each destination. One message is composed, and one is held, at a time. Paper 001 describes the calls; docs/adr/0026-pm-messages.md says
// what is done otherwise. One thread at a time. Tests: tests/conformance/pm_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

#include "pm/far_outlet.hpp"
#include "pm/near_outlet.hpp"
#include "pm/node_host.hpp"
#include "pm/receive_pool.hpp"

namespace acp::pm {

class Context {
public:
    using PmMessage = ReceivePool<NodeHost>::Message;

    //   pool     a block of pool_bytes in the heap of this process that nobody has used
    //   number   of the context, the same on all processes
    //   gma and allocator outlive this
    // Throws std::bad_alloc.
    Context(gma::Gma& gma,
            data::Allocator& allocator,
            std::uint32_t number,
            memory::GlobalAddress pool);
    ~Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Lets others send.
    void open() noexcept;
    // Nobody may send any more, and what was not received is dropped. What this process has sent goes on.
    void close() noexcept;

    // Room for a message to a process, until send(); nullptr: not now, or never: see why_no_room().
    //   bytes  <= message_bytes_max
    [[nodiscard]] char* reserve(std::uint32_t process, std::uint64_t bytes) noexcept {
        if (reserved_ != nullptr) [[unlikely]]
            return nullptr;
        const bool is_known = last_ != nullptr && last_->process == process;
        if (!is_known || deaths() != deaths_heeded_) [[unlikely]]
            return reserve_elsewhere(process, bytes);
        return reserve_at(*last_, bytes);
    }

    [[nodiscard]] bool has_reserved() const noexcept { return reserved_ != nullptr; }

    [[nodiscard]] std::uint64_t reserved_bytes() const noexcept { return reserved_bytes_; }

    // Makes what was reserved shorter.   bytes  <= reserved_bytes()
    void truncate(std::uint64_t bytes) noexcept { reserved_bytes_ = bytes; }

    void send() noexcept {
        OutletSlot& to = *std::exchange(reserved_, nullptr);
        if (to.near.has_value()) [[likely]]
            return to.near->commit(reserved_bytes_);
        to.far->commit(reserved_bytes_);
    }

    // Whether all that was sent has left the memory of this process, or was dropped by a close of its destination.
    [[nodiscard]] bool is_sent();

    // ok: there is none now, and it is worth while to try again. Errors: peer (gone), stale (it has closed its context).
    [[nodiscard]] base::Status why_no_room(std::uint32_t process);

    // The next message, which is held until release(). data is nullptr where there is none: then somebody may be gone.
    [[nodiscard]] PmMessage receive() noexcept {
        PmMessage found = ready_.data != nullptr ? std::exchange(ready_, {}) : pool_.receive();
        is_held_ = found.data != nullptr;
        if (is_held_) [[likely]]
            idle_looks_ = 0;
        if (++calls_ % calls_per_look == 0 || !is_held_) [[unlikely]]
            look_around(found);
        return found;
    }

    [[nodiscard]] bool is_holding() const noexcept { return is_held_; }

    void release() noexcept {
        is_held_ = false;
        pool_.release();
    }

    // A process that is gone, of whom nothing is left to receive; each once.
    [[nodiscard]] std::optional<std::uint32_t> take_gone();

    // Whether somebody may be gone of whom take_gone() has not told.
    [[nodiscard]] bool has_new_deaths() const noexcept { return deaths() != deaths_seen_; }

    // Waits for a message or for somebody's end. false: neither has come in time.   timeout_ns  < 0: for ever
    [[nodiscard]] bool wait(std::int64_t timeout_ns);

    // Before a sleep on the bell of the process, after it was announced: whether there is nothing to do.
    [[nodiscard]] bool may_sleep() noexcept;

    // Waits for what is under way to other nodes.
    void settle() noexcept;

    [[nodiscard]] std::string fate_of(std::uint32_t process) const;

private:
    static constexpr std::uint32_t calls_per_look = 1024;
    static constexpr std::uint32_t looks_per_help = 4;
    static constexpr std::uint32_t looks_per_clock = 32;
    static constexpr std::uint32_t looks_alone = 64;  // before others are let run
    static constexpr std::uint32_t looks_per_yield = 16;
    static constexpr std::uint64_t tend_ns = 250'000;

    // The way to one destination.
    struct OutletSlot {
        std::uint32_t process = nobody;
        std::uint64_t last_use = 0;
        std::optional<NearOutlet<NodeHost>> near;
        std::unique_ptr<FarOutlet> far;
    };

    class MessageCondition;

    [[nodiscard]] char* reserve_at(OutletSlot& to, std::uint64_t bytes) noexcept {
        char* const room = to.near.has_value() ? to.near->reserve(bytes) : reserve_far(to, bytes);
        if (room == nullptr) [[unlikely]]
            return no_room();
        reserved_ = &to;
        reserved_bytes_ = bytes;
        return room;
    }

    // How many have died, or were lost, so far.
    [[nodiscard]] std::uint32_t deaths() const noexcept {
        // acquire: who has died; partner: node::mark_dead, node::count_loss
        return deaths_word_.load(std::memory_order_acquire);
    }

    [[nodiscard]] char* reserve_elsewhere(std::uint32_t process, std::uint64_t bytes) noexcept;
    [[nodiscard]] static char* reserve_far(OutletSlot& to, std::uint64_t bytes) noexcept;
    [[nodiscard]] char* no_room() noexcept;
    void forget_gone() noexcept;
    [[nodiscard]] OutletSlot* find_or_make(std::uint32_t process);
    [[nodiscard]] OutletSlot* find(std::uint32_t process) noexcept;
    [[nodiscard]] OutletSlot* take_settled();
    void make(OutletSlot& slot, std::uint32_t index, std::uint32_t process);
    void look_around(PmMessage& found) noexcept;
    void look_at_clock() noexcept;
    void tend(std::uint64_t now_ns) noexcept;
    NodeHost host_;
    memory::GlobalAddress address_;
    char* memory_;
    const std::atomic<std::uint32_t>& deaths_word_;  // of the node
    ReceivePool<NodeHost> pool_;
    std::vector<char> staging_;  // of messages to other nodes
    std::array<OutletSlot, outlets> outlets_;
    OutletSlot* last_ = nullptr;
    OutletSlot* reserved_ = nullptr;
    std::uint64_t reserved_bytes_ = 0;
    PmMessage ready_;  // found by wait(), and not yet received
    bool is_held_ = false;
    bool has_far_ = false;  // the job has several nodes
    std::uint64_t uses_ = 0;
    std::uint32_t calls_ = 0;
    std::uint32_t idle_looks_ = 0;
    std::uint64_t tended_at_ns_ = 0;
    std::uint32_t deaths_seen_ = 0;    // of which take_gone() has told
    std::uint32_t deaths_heeded_ = 0;  // after which there is no way to anybody who is gone
    std::vector<bool> told_gone_;      // of all processes; empty as long as nobody is gone
};

}  // namespace acp::pm
