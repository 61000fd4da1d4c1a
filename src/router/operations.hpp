// SPDX-License-Identifier: BSD-3-Clause
// The records of the work that this node does for commands of any node, and their buffers: bytes
// that were read and wait to be sent, arguments of other nodes' invokes, pieces for which there was
// no room. Records are counted in shares, each with a maximum, so that no kind of work can take
// all. Does not know how the work is done or in which queue a record waits. One thread.
// Tests: tests/unit/router/backlog_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "router/records.hpp"

namespace acp::router {

inline constexpr std::uint64_t staging_bytes_max = 8960;  // longest piece that is staged

class Operations {
public:
    // Throws std::bad_alloc; later calls allocate nothing.
    explicit Operations(const RouterSettings& settings);
    ~Operations();
    Operations(const Operations&) = delete;
    Operations& operator=(const Operations&) = delete;

    // Takes a record; no_index if the share has its maximum.
    [[nodiscard]] std::uint32_t take(Share share, Work work) noexcept;

    // Takes a record for a command.
    //   lane  on which it will wait
    [[nodiscard]] std::uint32_t take_task(const Task& task, Work work, std::uint32_t lane) noexcept;

    // Takes a record for a staged piece, with a buffer to read it into.
    [[nodiscard]] std::uint32_t take_staged() noexcept;

    // Takes a record for an invoke of another node's process, with a copy of its arguments.
    [[nodiscard]] std::uint32_t take_invoke(Bytes arguments) noexcept;

    // The record held ready for the next piece that arrives, so that there is a ticket before
    // placement is asked to put the piece. Takes one if there is none; no_index if the share
    // `inner` has its maximum.
    [[nodiscard]] std::uint32_t spare() noexcept {
        if (spare_ == no_index) spare_ = take(Share::inner, Work::spare);
        return spare_;
    }

    // Uses the record that spare() returned for a piece.
    [[nodiscard]] OperationRecord& use_spare() noexcept {
        OperationRecord& operation = operations_[spare_];
        operation.work = Work::place;
        spare_ = no_index;
        return operation;
    }

    // Releases a record and its buffers. Its ticket becomes invalid.
    void release(std::uint32_t index) noexcept;

    [[nodiscard]] OperationRecord& operator[](std::uint32_t index) noexcept {
        return operations_[index];
    }

    // The ticket under which placement works on a record.
    [[nodiscard]] Ticket ticket_of(std::uint32_t index) const noexcept {
        return (std::uint64_t{operations_[index].generation} << 32) | (index + 1);
    }

    // The record that placement has under this ticket; no_index if there is none.
    [[nodiscard]] std::uint32_t find_with_placement(Ticket ticket) const noexcept;

    // The copy that a staged piece is a part of; nullptr if it has ended.
    [[nodiscard]] OperationRecord* parent_of(const OperationRecord& staged) noexcept;

    // The buffer of a staged piece.
    [[nodiscard]] std::span<std::byte> staging_of(const OperationRecord& staged) const noexcept {
        return {staging_.get() + std::size_t{staged.buffer} * staging_bytes_max,
                static_cast<std::size_t>(staged.bytes)};
    }

    // The arguments of an invoke of another node's process.
    [[nodiscard]] Bytes arguments_of(const OperationRecord& invoke) const noexcept {
        return {arguments_[invoke.buffer].bytes, static_cast<std::size_t>(invoke.bytes)};
    }

    // Calls see(operation) for each record but the spare one. It must not release any.
    template <typename See>
    void for_each(See see) {
        for (std::uint32_t index = 0; index < operations_.touched(); ++index) {
            OperationRecord& operation = operations_[index];
            if (operation.is_taken && operation.work != Work::spare) see(operation);
        }
    }

    // Cancels all work for the processes of a severed node.
    void cancel_of(const RouterPeer& initiators) noexcept;

    // The number of records in use, without the spare one.
    [[nodiscard]] std::uint32_t in_use() const noexcept {
        return operations_.used() - (spare_ == no_index ? 0 : 1);
    }

    // The pool, for queues that link its records.
    [[nodiscard]] Pool<OperationRecord>& pool() noexcept { return operations_; }

private:
    std::array<std::uint32_t, share_count> shares_max_;
    std::array<std::uint32_t, share_count> shares_{};  // records in use, per share
    Pool<OperationRecord> operations_;
    std::uint32_t spare_ = no_index;
    Pool<Arguments> arguments_;             // arguments of other nodes' invokes
    std::unique_ptr<std::byte[]> staging_;  // staging buffers; pages are touched when first used
    std::vector<std::uint32_t> staging_free_;
};

}  // namespace acp::router
