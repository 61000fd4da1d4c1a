// SPDX-License-Identifier: BSD-3-Clause
// A context of PM messages: the pool by which its process hears all others, and its ways to those it sends to, by shared memory or by the network,
// chosen for each destination. One message is composed, and one is held, at a time. Paper 001 describes the calls; docs/adr/0026-pm-messages.md says
// what is done otherwise. One thread at a time. Tests: tests/conformance/pm_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

#include "pm/node_host.hpp"
#include "pm/outlets.hpp"
#include "pm/poll_waker.hpp"
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

    [[nodiscard]] bool is_rank(int rank) const noexcept { return host_.is_rank(rank); }

    [[nodiscard]] std::uint32_t process_of(int rank) const noexcept {
        return host_.process_of(rank);
    }

    // Room for a message to a process, until send(); nullptr: not now, or never: see why_no_room().
    //   bytes  <= message_bytes_max
    [[nodiscard]] [[gnu::always_inline]] char* reserve(std::uint32_t process,
                                                       std::uint64_t bytes) noexcept {
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

    void send() noexcept { std::exchange(reserved_, nullptr)->commit(reserved_bytes_); }

    // Whether all that was sent has left the memory of this process, or was dropped by a close of its destination.
    [[nodiscard]] bool is_sent();

    // ok: there is none now, and it is worth while to try again. Errors: peer (gone), stale (it has closed its context).
    [[nodiscard]] base::Status why_no_room(std::uint32_t process);

    // The next message, which is held until release(). data is nullptr where there is none: then somebody may be gone.
    [[nodiscard]] PmMessage receive() noexcept {
        if (ready_.data != nullptr) [[unlikely]]
            return receive_ready();
        const PmMessage found = pool_.receive();
        is_held_ = found.data != nullptr;
        if (!is_held_ || ++calls_ % calls_per_look == 0) [[unlikely]]
            return look_around(found);
        idle_looks_ = 0;
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

    // Whether somebody is.
    [[nodiscard]] bool has_gone() noexcept { return has_new_deaths() && find_gone() != nobody; }

    // Looks for a message, which the next receive() then gives. false: there is none, or one is held.
    [[nodiscard]] bool has_message() noexcept {
        if (is_held_) return false;
        if (ready_.data == nullptr) ready_ = receive();
        is_held_ = false;
        return ready_.data != nullptr;
    }

    // Before a sleep on the bell of the process, after it was announced: does what others may be waiting for. has_message() is asked after it.
    void prepare_sleep() noexcept;

    // Before a sleep in poll(2). Whether there is nothing to do; then the descriptor becomes readable when there is.
    //   descriptor  gets it; it stays the same
    // Errors: limit, memory, system.
    [[nodiscard]] base::Result<bool> before_select(int& descriptor);

    // After it.
    void after_select() noexcept {
        if (waker_ != nullptr) waker_->disarm();
    }

    // The job has several nodes.
    [[nodiscard]] bool has_far() const noexcept { return has_far_; }

    [[nodiscard]] gma::Gma& gma() const noexcept { return host_.gma(); }

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

    [[nodiscard]] char* reserve_at(OutletSlot& to, std::uint64_t bytes) noexcept {
        char* const room = to.reserve(bytes);
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

    [[nodiscard]] std::uint32_t find_gone() noexcept;

    [[nodiscard]] [[gnu::noinline]] char* reserve_elsewhere(std::uint32_t process,
                                                            std::uint64_t bytes) noexcept;
    [[nodiscard]] char* no_room() noexcept;
    [[nodiscard]] PmMessage receive_ready() noexcept;
    [[nodiscard]] PmMessage look_around(PmMessage found) noexcept;
    bool look_at_clock() noexcept;
    bool tend_if_due() noexcept;
    void tend(std::uint64_t now_ns) noexcept;

    NodeHost host_;
    memory::GlobalAddress address_;
    char* memory_;
    const std::atomic<std::uint32_t>& deaths_word_;  // of the node
    ReceivePool<NodeHost> pool_;
    Outlets outlets_;
    OutletSlot* last_ = nullptr;  // the way that was used last; its place may have become another's
    OutletSlot* reserved_ = nullptr;
    std::uint64_t reserved_bytes_ = 0;
    PmMessage ready_;  // found by wait(), and not yet received
    bool is_held_ = false;
    bool has_far_ = false;              // the job has several nodes
    std::unique_ptr<PollWaker> waker_;  // made by the first before_select()
    std::uint32_t calls_ = 0;
    std::uint32_t idle_looks_ = 0;
    std::uint64_t tended_at_ns_ = 0;
    std::uint32_t deaths_seen_ = 0;    // of which take_gone() has told
    std::uint32_t deaths_heeded_ = 0;  // after which there is no way to anybody who is gone
    std::vector<bool> told_gone_;      // of all processes; empty as long as nobody is gone
};

}  // namespace acp::pm
