// SPDX-License-Identifier: BSD-3-Clause
// Numbered operations in global memory access: checks the arguments of a call, runs operations on
// memory that is mapped here, and keeps arguments and result of other calls until their command has
// ended. Command::expected is the index of the kept record. A result is written to the caller's
// buffer while its command is outstanding and never afterwards: so the caller may reuse the buffer
// once the command has ended, in whatever way. prepare(), keep(), bind(), invocation_of() and
// put_result() are called under the lock of Commands; the rest by any thread.
// Tests: tests/unit/gma/invokes_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "gma/commands.hpp"
#include "local/hazards.hpp"
#include "local/numbered_operation.hpp"
#include "local/space.hpp"
#include "remote/link.hpp"

namespace acp::gma {

// The arguments of a call.
struct Invocation {
    std::uint32_t process = 0;             // index of the process on whose memory it runs
    std::uint32_t operation = 0;           // its number
    std::span<const std::byte> arguments;  // read before the call returns
    // With result_tail room for the operation's result_bytes_max at least. The caller's again when
    // the handle has ended.
    std::span<std::byte> result;
    std::uint32_t* result_bytes = nullptr;  // written as result is, of all; nullptr: not wanted
    // Room for what follows the first result.size() bytes of the result, and more arguments, which
    // follow the first ones one behind the other: a caller need not put either together.
    std::span<std::byte> result_tail = {};
    std::array<std::span<const std::byte>, 3> tail = {};

    [[nodiscard]] std::size_t tail_bytes() const noexcept {
        return tail[0].size() + tail[1].size() + tail[2].size();
    }

    [[nodiscard]] std::size_t argument_bytes() const noexcept {
        return arguments.size() + tail_bytes();
    }

    [[nodiscard]] std::size_t result_room() const noexcept {
        return result.size() + result_tail.size();
    }
};

class Invokes {
public:
    // The most calls of a process that are kept; a thread that issues more waits for the oldest
    // command to end.
    static constexpr std::uint32_t kept_max = remote::invokes_max;

    //   table  nullptr: there are no operations
    //   link   nullptr: a job of one node
    // All must outlive this.
    Invokes(const CommandQueue& queue,
            const local::Space& space,
            const local::Hazards& hazards,
            const local::OperationTable* table,
            remote::Link* link) noexcept;

    // Whether the memory of the process is on this node, so that this process runs the operation
    // itself.
    [[nodiscard]] bool is_here(const Invocation& call) const noexcept {
        return space_.is_on_node(call.process);
    }

    // Whether there is such a process.
    [[nodiscard]] bool has_process(const Invocation& call) const noexcept {
        return call.process < space_.segment().shape().procs;
    }

    // The operation, if there is one and the arguments and the room for the result fit; else
    // nullptr.
    [[nodiscard]] const local::NumberedOperation* find(const Invocation& call) const noexcept {
        const local::NumberedOperation* row = table_.find(call.operation);
        const bool is_fit = row != nullptr && call.argument_bytes() <= row->argument_bytes_max &&
                            call.result_room() >= row->result_bytes_max;
        return is_fit ? row : nullptr;
    }

    // Whether there is an operation of this number with room for these arguments and without a
    // result.
    [[nodiscard]] bool has_silent(std::uint32_t operation,
                                  std::uint64_t argument_bytes) const noexcept {
        const local::NumberedOperation* row = table_.find(operation);
        return row != nullptr && argument_bytes <= row->argument_bytes_max &&
               row->result_bytes_max == 0;
    }

    // "allocating on memory of rank 3 on node 1 (10.0.0.4)", which the call of the interface says
    // that it is a part of. An operation that has the name of such a call stands for it: "acp_...
    // by rank 0 on host on memory of rank 3".
    [[nodiscard]] std::string subject(const Command& command) const;

    // Says why find() gave nothing, or that there is no such process. Errors: argument, unsupported
    // (no such operation).
    [[nodiscard, gnu::cold]] base::Status refusal(const Invocation& call) const;

    // Runs an operation that find() gave, on memory of this node, and writes its result.   line  of
    // the calling thread
    [[nodiscard, gnu::always_inline]] inline base::Code run(
        const local::NumberedOperation& operation,
        const Invocation& call,
        memory::HazardLine& line) const noexcept {
        local::OperationContext context(space_, hazards_, line, call.process);
        if (call.tail_bytes() != 0 || !call.result_tail.empty()) [[unlikely]] {
            return run_in_parts(operation, call, context);
        }
        const auto ran = local::run_operation(operation, context, call.arguments, call.result);
        if (ran.code == base::Code::ok && call.result_bytes != nullptr) {
            *call.result_bytes = ran.result_bytes;
        }
        return ran.code;
    }

    // The command that stands for an invoke in the queue.
    [[nodiscard]] Command command_of(const Invocation& call) const noexcept;

    // no_room: kept_max are kept, and there is room when the oldest command has ended. no_memory:
    // nothing was kept.
    enum class Kept : std::uint8_t { yes, no_room, no_memory };

    // Takes the memory that keep() needs, once. False: there is none.
    [[nodiscard]] bool prepare() noexcept;

    // Keeps a call until its command has ended; sets command.expected to the record's index.
    [[nodiscard]] Kept keep(const Invocation& call, Command& command) noexcept;

    // Under which number the command that was kept last was admitted, before the lock is let go.
    void bind(const Command& command, std::uint64_t number) noexcept {
        calls_[command.expected].number = number;
    }

    // Runs a kept call, on memory of this node. Without the lock: the command is outstanding.
    [[nodiscard]] base::Status run_kept(const Command& command, memory::HazardLine& line) const;

    // A kept call, in the form for a link.
    [[nodiscard]] remote::LinkInvocation invocation_of(const Command& command) const noexcept;

    // Writes a result to the caller's buffer.   command  outstanding
    // Errors: limit (it is longer than this process's table allows; nothing was written)
    [[nodiscard]] base::Code put_result(const Command& command,
                                        std::span<const std::byte> result) noexcept;

    // The failure of an invoke, with the operation's name and the owner of the memory.
    // command: it was kept
    [[nodiscard, gnu::cold]] base::Status failure_of(const Command& command,
                                                     base::Code code) const {
        return failure_of(command, arguments_of(command), code);
    }

    [[nodiscard, gnu::cold]] base::Status failure_of(const Invocation& call,
                                                     base::Code code) const {
        return failure_of(command_of(call), call.arguments, code);
    }

private:
    // run() of a call whose arguments or result are in two parts.
    [[nodiscard]] static base::Code run_in_parts(const local::NumberedOperation& operation,
                                                 const Invocation& call,
                                                 local::OperationContext& context) noexcept;

    [[nodiscard]] base::Status failure_of(const Command& command,
                                          std::span<const std::byte> arguments,
                                          base::Code code) const;

    using ArgumentRoom = std::array<std::byte, memory::invoke_bytes_max>;

    struct Call {
        std::uint64_t number = 0;  // 0: none. It is kept as long as this is outstanding.
        std::span<std::byte> result;
        std::span<std::byte> result_tail;
        std::uint32_t* result_bytes = nullptr;
        std::uint32_t argument_bytes = 0;
    };

    // Where the arguments of a kept call lie. Those of a job of several nodes are written where
    // the link reads them.
    [[nodiscard]] std::byte* room_of(std::uint32_t index) const noexcept {
        return link_ != nullptr ? link_->arguments_at(index) : rooms_[index].data();
    }

    [[nodiscard]] std::span<const std::byte> arguments_of(const Command& command) const noexcept {
        const auto index = static_cast<std::uint32_t>(command.expected);
        return {room_of(index), calls_[index].argument_bytes};
    }

    const CommandQueue& queue_;
    const local::Space& space_;
    const local::Hazards& hazards_;
    const local::OperationTable& table_;
    remote::Link* link_;
    // kept_max of each, made by prepare(); rooms only without a link
    std::unique_ptr<Call[]> calls_;
    std::unique_ptr<ArgumentRoom[]> rooms_;
    std::uint32_t next_ = 0;  // where the search for a free one begins
};

}  // namespace acp::gma
