// SPDX-License-Identifier: BSD-3-Clause
// Numbered operations: functions of library layers that run on memory of one process, in a process
// that has this memory mapped. A layer states its operations as rows; an OperationTable, which is
// the same in every process of a job and in the gateways of its nodes, holds the rows of all
// layers. The caller runs an operation itself on memory of its own node, and the gateway of the
// owner's node runs it for callers of other nodes. So several processes may run the same operation
// on the same memory at once, and one may be killed in the middle. Therefore an operation must be
// atomic by its own instructions; must not wait for another process, nor for another thread of a
// gateway, which has only one; and after each of its stores memory must be in a state from which
// the next operation can continue. Knows no handle, frame or link. Any thread.
// Tests: tests/unit/local/numbered_operation_test.cpp, tests/invoke.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/assert.hpp"
#include "base/status.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "memory/operation.hpp"

namespace acp::local {

// The services for an operation while it runs. find() names the memory that it returns in the
// hazard line of the running thread, so that the memory stays registered until the operation
// returns.
class OperationContext {
public:
    //   line     a hazard line of the calling thread; the destructor clears it
    //   process  a process of this node, by its index in the job
    OperationContext(const Space& space,
                     const Hazards& hazards,
                     memory::HazardLine& line,
                     std::uint32_t process) noexcept
        : OperationContext(space, hazards, line, process, hazards.index_of(line)) {}

    //   thread  see thread()
    OperationContext(const Space& space,
                     const Hazards& hazards,
                     memory::HazardLine& line,
                     std::uint32_t process,
                     std::uint32_t thread) noexcept
        : space_(space), hazards_(hazards), line_(line), process_(process), thread_(thread) {}

    ~OperationContext() { memory::leave(line_); }

    OperationContext(const OperationContext&) = delete;
    OperationContext& operator=(const OperationContext&) = delete;

    // The process on whose memory the operation runs: its index in the job.
    [[nodiscard]] std::uint32_t process() const noexcept { return process_; }

    // For operations on ranges that layers claim (node/claims.hpp): the node's memory as the
    // running process has it mapped, and the number of the running thread, which no other thread of
    // its process has during the operation; for a request from another node gateway_thread.
    [[nodiscard]] const Space& space() const noexcept { return space_; }

    [[nodiscard]] std::uint32_t thread() const noexcept { return thread_; }

    // The number under which a gateway runs the requests of other nodes, whichever thread of its
    // process makes progress: what a layer keeps for a thread it keeps for all of them together.
    static constexpr std::uint32_t gateway_thread = memory::hazard_lines_per_slot;

    // For a thread that has no hazard line, and so no number.
    static constexpr std::uint32_t no_thread = gateway_thread + 1;

    // The hazard lines of the process that runs the operation: a rank of this node, or its gateway.
    [[nodiscard]] const Hazards& hazards() const noexcept { return hazards_; }

    // Where `bytes` bytes at an address of that process lie. nullptr: refusal() gives the reason.
    // Valid until the operation returns. At most ranges_max calls; calls for shared segments
    // (starter memory, what layers claim) do not count, since those are never revoked.
    [[nodiscard]] std::byte* find(memory::GlobalAddress address, std::uint64_t bytes) noexcept {
        if (space_.view().slot_of(address) != space_.slot_of(process_)) [[unlikely]] {
            return refuse(base::Code::address);
        }
        if (!space_.is_shared(address) && !name(address)) [[unlikely]] {
            return refuse(base::Code::limit);
        }
        char* place = nullptr;
        if (space_.view().find_direct(address, bytes, place)) [[likely]] {
            return reinterpret_cast<std::byte*>(place);
        }
        return find_slowly(address, bytes);
    }

    // The reason why find() last returned nullptr: address (no memory there, range too long, or
    // memory of another process), stale, limit (more than ranges_max ranges), unsupported (private
    // memory of a process other than the one that runs the operation).
    [[nodiscard]] base::Code refusal() const noexcept { return refusal_; }

    static constexpr std::uint32_t ranges_max = 2;

    // Asks the gateway that runs this operation to run another one on memory of the same process in
    // a later round (engine/later_operations.hpp), for work that may take longer than a request. It
    // takes no arguments and returns no result, and may ask for itself. An operation asks for at most
    // two. A hint: the gateway may drop it, and the end of the job does.
    //   operation  its number; in any other process than a gateway nothing runs it
    void run_later(std::uint32_t operation) noexcept {
        ACP_ASSERT(asked_ < later_.size());
        later_[asked_++] = operation;
    }

    // The numbers that run_later() was called with.
    [[nodiscard]] std::span<const std::uint32_t> later() const noexcept {
        return std::span(later_).first(asked_);
    }

private:
    // find() for memory that commands of this process may not reach directly (ACP_INTRANODE), and
    // for addresses without memory.
    [[nodiscard, gnu::cold]] std::byte* find_slowly(memory::GlobalAddress address,
                                                    std::uint64_t bytes) noexcept {
        Place place;
        const base::Code code = space_.find(address, bytes, place);
        if (code != base::Code::ok) return refuse(code);
        if (place.direct == nullptr) {  // private to a process other than this one
            return refuse(base::Code::unsupported);
        }
        return reinterpret_cast<std::byte*>(place.direct);
    }

    [[nodiscard]] std::byte* refuse(base::Code code) noexcept {
        refusal_ = code;
        return nullptr;
    }

    // The line has room for two addresses; the first one stays while the second is added.
    [[nodiscard]] bool name(memory::GlobalAddress address) noexcept {
        if (ranges_ == ranges_max) return false;
        first_ = ranges_ == 0 ? address : first_;
        ++ranges_;
        hazards_.enter(line_, first_, address);
        return true;
    }

    const Space& space_;
    const Hazards& hazards_;
    memory::HazardLine& line_;
    std::uint32_t process_;
    std::uint32_t thread_;
    std::uint32_t ranges_ = 0;
    std::uint32_t asked_ = 0;  // calls of run_later()
    std::array<std::uint32_t, 2> later_{};
    memory::GlobalAddress first_ = 0;
    base::Code refusal_ = base::Code::ok;
};

// One row of the table.
struct NumberedOperation {
    // Runs the operation. It must not block or throw, and must access no shared memory but what
    // find() returns and what its layer claims (node/claims.hpp), which is never revoked. Arguments
    // may come from another node and are not trusted: the caller has checked that they have at most
    // argument_bytes_max bytes; the function checks the rest.
    //   result  room for result_bytes_max bytes
    // Returns ok and the number of bytes it wrote to result, or the code with which the command
    // fails.
    struct Ran {
        base::Code code = base::Code::ok;
        std::uint32_t result_bytes = 0;
    };

    using Function = Ran (*)(OperationContext& context,
                             std::span<const std::byte> arguments,
                             std::span<std::byte> result) noexcept;

    std::uint32_t number = 0;              // < operation_numbers
    const char* name = "";                 // its name in messages
    std::uint32_t argument_bytes_max = 0;  // <= memory::invoke_bytes_max
    std::uint32_t result_bytes_max = 0;    // <= memory::invoke_bytes_max
    Function run = nullptr;                // set in each row of a table
    // Returns the addresses that the arguments name, for a message; nullptr: they name none. May
    // throw std::bad_alloc.
    std::string (*places_of)(std::span<const std::byte> arguments) = nullptr;
};

inline constexpr std::uint32_t operation_numbers = 4096;

// Immutable once filled; any thread may read it. Numbers are spread over all operation_numbers, so a
// byte of each says where its row is: the table takes two pages of each process, not nine.
class OperationTable {
public:
    static constexpr std::uint32_t rows_max = 255;

    // A table without operations.
    constexpr OperationTable() noexcept = default;

    // Adds the rows of a layer: at most rows_max of all layers.
    //   rows  must outlive the table; no number may be in use already
    constexpr void add(std::span<const NumberedOperation> rows) noexcept {
        for (const NumberedOperation& row : rows) {
            ACP_ASSERT(row.number < operation_numbers && find(row.number) == nullptr);
            ACP_ASSERT(row.argument_bytes_max <= memory::invoke_bytes_max &&
                       row.result_bytes_max <= memory::invoke_bytes_max);
            ACP_ASSERT(count_ < rows_max);
            rows_[++count_] = &row;
            places_[row.number] = static_cast<std::uint8_t>(count_);
        }
    }

    // The operation with a number; nullptr if there is none.
    [[nodiscard]] constexpr const NumberedOperation* find(std::uint32_t number) const noexcept {
        return number < operation_numbers ? rows_[places_[number]] : nullptr;
    }

private:
    std::array<std::uint8_t, operation_numbers> places_{};  // 0: no row
    std::array<const NumberedOperation*, rows_max + 1> rows_{};
    std::uint32_t count_ = 0;
};

// Runs an operation on memory of a process of this node, in the calling thread.
//   arguments  at most operation.argument_bytes_max   result  at least operation.result_bytes_max
[[nodiscard, gnu::always_inline]] inline NumberedOperation::Ran run_operation(
    const NumberedOperation& operation,
    OperationContext& context,
    std::span<const std::byte> arguments,
    std::span<std::byte> result) noexcept {
    const NumberedOperation::Ran ran =
        operation.run(context, arguments, result.first(operation.result_bytes_max));
    ACP_ASSERT(ran.result_bytes <= operation.result_bytes_max);
    return ran;
}

}  // namespace acp::local
