// SPDX-License-Identifier: BSD-3-Clause
// The records of the work that this node does for commands of any node, with the buffers that belong to them: bytes that were
// read and wait to be sent, arguments of other nodes' invokes, pieces that found no room. Each share has its own maximum, so
// that none takes the room of the others. Does not know what the work is or in which queue it waits. One thread.
// Tests: tests/unit/router/backlog_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "router/records.hpp"

namespace acp::router {

inline constexpr std::uint64_t staging_bytes_max = 8960;  // of a piece that placement reads

class Operations {
public:
    // Throws std::bad_alloc; later calls take no memory.
    explicit Operations(const RouterSettings& settings);
    ~Operations();
    Operations(const Operations&) = delete;
    Operations& operator=(const Operations&) = delete;

    // A fresh record; no_index: this share has its maximum.
    [[nodiscard]] std::uint32_t take(Share share, Work work) noexcept;

    // The same, for a command.   node  in whose flow it will wait
    [[nodiscard]] std::uint32_t take_task(const Task& task, Work work, NodeId node) noexcept;

    // The same, for a staged piece with a buffer to read it into.
    [[nodiscard]] std::uint32_t take_staged() noexcept;

    // The same, for an invoke of another node's process, with a copy of its arguments.
    [[nodiscard]] std::uint32_t take_invoke(Bytes arguments) noexcept;

    // The record that is held ready for the next piece, so that there is a ticket before placement is asked to put it; taken
    // when there is none. no_index: its share, inner, has its maximum.
    [[nodiscard]] std::uint32_t spare() noexcept {
        if (spare_ == no_index) spare_ = take(Share::inner, Work::spare);
        return spare_;
    }

    // The spare record is for a piece from now on.   spare() gave it
    [[nodiscard]] OperationRecord& use_spare() noexcept {
        OperationRecord& operation = operations_[spare_];
        operation.work = Work::place;
        spare_ = no_index;
        return operation;
    }

    // Gives a record back, and its buffers. No ticket names it any more.
    void release(std::uint32_t index) noexcept;

    [[nodiscard]] OperationRecord& operator[](std::uint32_t index) noexcept {
        return operations_[index];
    }

    // The name under which placement works at it.
    [[nodiscard]] Ticket ticket_of(std::uint32_t index) const noexcept {
        return (std::uint64_t{operations_[index].generation} << 32) | (index + 1);
    }

    // The record that placement has under this ticket; no_index: none.
    [[nodiscard]] std::uint32_t find_with_placement(Ticket ticket) const noexcept;

    // The piece of which a staged one is a part; nullptr: it has ended.
    [[nodiscard]] OperationRecord* parent_of(const OperationRecord& staged) noexcept;

    // Where a staged piece is, or is to be read.
    [[nodiscard]] std::span<std::byte> staging_of(const OperationRecord& staged) const noexcept {
        return {staging_.get() + std::size_t{staged.buffer} * staging_bytes_max,
                static_cast<std::size_t>(staged.bytes)};
    }

    // The arguments of an invoke of another node's process.
    [[nodiscard]] Bytes arguments_of(const OperationRecord& invoke) const noexcept {
        return {arguments_[invoke.buffer].bytes, static_cast<std::size_t>(invoke.bytes)};
    }

    // Calls see(operation) for each that is not spare. It may release none.
    template <typename See>
    void for_each(See see) {
        for (std::uint32_t index = 0; index < operations_.touched(); ++index) {
            OperationRecord& operation = operations_[index];
            if (operation.is_taken && operation.work != Work::spare) see(operation);
        }
    }

    // Cancels what the processes of a severed node want.
    void cancel_of(const RouterPeer& initiators) noexcept;

    // Records by which something is under way: not the spare one.
    [[nodiscard]] std::uint32_t in_use() const noexcept {
        return operations_.used() - (spare_ == no_index ? 0 : 1);
    }

    // The pool that queues of operations are linked in.
    [[nodiscard]] Pool<OperationRecord>& pool() noexcept { return operations_; }

private:
    std::array<std::uint32_t, share_count> shares_max_;
    std::array<std::uint32_t, share_count> shares_{};  // in use
    Pool<OperationRecord> operations_;
    std::uint32_t spare_ = no_index;
    Pool<Arguments> arguments_;             // of invokes of others
    std::unique_ptr<std::byte[]> staging_;  // not touched before a piece needs it
    std::vector<std::uint32_t> staging_free_;
};

}  // namespace acp::router
