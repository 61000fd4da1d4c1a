// SPDX-License-Identifier: BSD-3-Clause
// A context of PM messages: the pool in which its process receives from all other processes, and
// its outlets to destinations, by shared memory or by the network. One message is composed, and one
// is held, at a time. Paper 001 describes the calls; docs/adr/0026-pm-messages.md lists the
// differences. One thread at a time. Tests: tests/unit/pm/context_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "node/gone_reports.hpp"

#include "pm/node_host.hpp"
#include "pm/outlets.hpp"
#include "pm/poll_waker.hpp"
#include "pm/receive_pool.hpp"

namespace acp::pm {

class Context {
public:
    using PmMessage = ReceivePool<NodeHost>::Message;

    // Throws std::bad_alloc.
    //   number          of the context; the same on all processes
    //   pool            an unused block of pool_bytes in the heap of this process
    //   gma, allocator  must outlive this
    Context(gma::Gma& gma,
            data::Allocator& allocator,
            std::uint32_t number,
            memory::GlobalAddress pool);
    ~Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Accepts messages.
    void open() noexcept;
    // Accepts no more messages, and drops those that were not received. Messages that this process
    // has sent are still delivered.
    void close() noexcept;

    [[nodiscard]] bool is_rank(int rank) const noexcept { return host_.is_rank(rank); }

    [[nodiscard]] std::uint32_t process_of(int rank) const noexcept {
        return host_.process_of(rank);
    }

    // Reserves room for a message to a process, until send(). nullptr: there is none now, or never
    // will be: see why_no_room().
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

    // Shortens the reserved message.
    //   bytes  <= reserved_bytes()
    void truncate(std::uint64_t bytes) noexcept { reserved_bytes_ = bytes; }

    void send() noexcept { std::exchange(reserved_, nullptr)->commit(reserved_bytes_); }

    // Whether all messages have left the memory of this process, or were dropped because their
    // destination was closed.
    [[nodiscard]] bool is_sent();

    // ok: a later attempt may succeed. Errors: peer (gone), stale (it has closed its context).
    [[nodiscard]] base::Status why_no_room(std::uint32_t process);

    // Returns the next message, which is held until release(). data is nullptr: there is none; then
    // a process may be gone (take_gone()).
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

    // Returns a process that is gone, after all its messages were received. Each is returned once.
    [[nodiscard]] std::optional<std::uint32_t> take_gone();

    // Whether there may be a process for take_gone().
    [[nodiscard]] bool has_new_deaths() const noexcept { return deaths() != deaths_seen_; }

    // Whether a process is gone that take_gone() has not returned.
    [[nodiscard]] bool has_gone() noexcept { return has_new_deaths() && find_gone() != nobody; }

    // Looks for a message, which the next receive() returns. False: there is none, or one is held.
    [[nodiscard]] bool has_message() noexcept {
        if (is_held_) return false;
        if (ready_.data == nullptr) ready_ = receive();
        is_held_ = false;
        return ready_.data != nullptr;
    }

    // Call it before a sleep on the bell of the process, after the announcement: does work that
    // other processes may wait for. Call has_message() afterwards.
    void prepare_sleep() noexcept;

    // Call it before a sleep in poll(2). Returns whether there is nothing to receive; then the
    // descriptor becomes readable when there is. Errors: limit, memory, system.
    //   descriptor  receives it; it stays the same
    [[nodiscard]] base::Result<bool> before_select(int& descriptor);

    // Call it after poll(2).
    void after_select() noexcept {
        if (waker_ != nullptr) waker_->disarm();
    }

    // The job has several nodes.
    [[nodiscard]] bool has_far() const noexcept { return has_far_; }

    [[nodiscard]] gma::Gma& gma() const noexcept { return host_.gma(); }

    // Waits for operations in flight to other nodes.
    void settle() noexcept;

    [[nodiscard]] std::string fate_of(std::uint32_t process) const;

private:
    static constexpr std::uint32_t calls_per_look = 1024;
    static constexpr std::uint32_t looks_per_help = 4;
    static constexpr std::uint32_t looks_per_clock = 32;
    static constexpr std::uint32_t looks_alone = 64;  // polls before the thread yields
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

    // How many processes have died or were lost so far.
    [[nodiscard]] std::uint32_t deaths() const noexcept {
        // acquire: makes the deaths visible; partner: node::mark_dead, node::count_loss
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
    const std::atomic<std::uint32_t>& deaths_word_;  // the node's count
    ReceivePool<NodeHost> pool_;
    Outlets outlets_;
    // the outlet used last; its slot may since have been given to another process
    OutletSlot* last_ = nullptr;
    OutletSlot* reserved_ = nullptr;
    std::uint64_t reserved_bytes_ = 0;
    PmMessage ready_;  // found by has_message(), not yet received
    bool is_held_ = false;
    bool has_far_ = false;              // the job has several nodes
    std::unique_ptr<PollWaker> waker_;  // made by the first before_select()
    std::uint32_t calls_ = 0;
    std::uint32_t idle_looks_ = 0;
    std::uint64_t tended_at_ns_ = 0;
    std::uint32_t deaths_seen_ = 0;    // deaths() when take_gone() last found no process
    std::uint32_t deaths_heeded_ = 0;  // deaths() when outlets to gone processes were last removed
    node::GoneReports told_gone_;      // those that take_gone() has returned
};

}  // namespace acp::pm
