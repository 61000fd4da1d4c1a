// SPDX-License-Identifier: BSD-3-Clause
// Keeps calls, runs kept ones, and describes failures.
#include "gma/invokes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

namespace acp::gma {

namespace {

constexpr local::OperationTable no_operations;

void write_arguments(const Invocation& call, std::byte* into) noexcept {
    into = std::copy(call.arguments.begin(), call.arguments.end(), into);
    for (const std::span<const std::byte> part : call.tail)
        into = std::copy(part.begin(), part.end(), into);
}

// Writes a result of at most result.size() + tail.size() bytes into both.
void write_result(std::span<const std::byte> from,
                  std::span<std::byte> result,
                  std::span<std::byte> tail) noexcept {
    const std::size_t first = std::min(from.size(), result.size());
    if (first != 0) std::memcpy(result.data(), from.data(), first);
    if (from.size() != first) {
        std::memcpy(tail.data(), from.data() + first, from.size() - first);
    }
}

}  // namespace

Invokes::Invokes(const CommandQueue& queue,
                 const local::Space& space,
                 const local::Hazards& hazards,
                 const local::OperationTable* table,
                 remote::Link* link) noexcept
    : queue_(queue),
      space_(space),
      hazards_(hazards),
      table_(table != nullptr ? *table : no_operations),
      link_(link) {}

Command Invokes::command_of(const Invocation& call) const noexcept {
    Command command;
    command.operation = memory::invoke_operation;
    command.target = space_.starter_address(call.process);
    command.source = command.target;
    command.operand = call.operation;
    return command;
}

bool Invokes::prepare() noexcept {
    if (link_ == nullptr && rooms_ == nullptr) {
        rooms_.reset(new (std::nothrow) ArgumentRoom[kept_max]);
    }
    const bool has_rooms = link_ != nullptr || rooms_ != nullptr;
    if (has_rooms && calls_ == nullptr) calls_.reset(new (std::nothrow) Call[kept_max]);
    return calls_ != nullptr;
}

// A record is free when its command has ended, in whatever way: no call must release it.
Invokes::Kept Invokes::keep(const Invocation& call, Command& command) noexcept {
    if (!prepare()) return Kept::no_memory;
    for (std::uint32_t i = 0; i < kept_max; ++i) {
        const std::uint32_t index = (next_ + i) % kept_max;
        Call& kept = calls_[index];
        if (queue_.is_outstanding(kept.number)) continue;
        kept.number = 0;
        kept.result = call.result;
        kept.result_tail = call.result_tail;
        kept.result_bytes = call.result_bytes;
        kept.argument_bytes = static_cast<std::uint32_t>(call.argument_bytes());
        write_arguments(call, room_of(index));
        command.expected = index;
        next_ = (index + 1) % kept_max;
        return Kept::yes;
    }
    return Kept::no_room;
}

base::Code Invokes::run_in_parts(const local::NumberedOperation& operation,
                                 const Invocation& call,
                                 local::OperationContext& context) noexcept {
    // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): written as far as read
    std::array<std::byte, memory::invoke_bytes_max> arguments;
    std::array<std::byte, memory::invoke_bytes_max> result;
    // NOLINTEND(cppcoreguidelines-pro-type-member-init)
    write_arguments(call, arguments.data());
    const auto ran = local::run_operation(
        operation, context, std::span(arguments).first(call.argument_bytes()), result);
    if (ran.code != base::Code::ok) return ran.code;
    write_result(std::span(result).first(ran.result_bytes), call.result, call.result_tail);
    if (call.result_bytes != nullptr) *call.result_bytes = ran.result_bytes;
    return base::Code::ok;
}

base::Status Invokes::run_kept(const Command& command, memory::HazardLine& line) const {
    const Call& kept = calls_[command.expected];
    Invocation call;
    call.process = static_cast<std::uint32_t>(space_.layout().process(command.target));
    call.operation = static_cast<std::uint32_t>(command.operand);
    call.arguments = arguments_of(command);
    call.result = kept.result;
    call.result_tail = kept.result_tail;
    call.result_bytes = kept.result_bytes;
    const local::NumberedOperation* operation = find(call);
    const base::Code code =
        operation != nullptr ? run(*operation, call, line) : base::Code::argument;
    return code == base::Code::ok ? base::Status() : failure_of(command, code);
}

remote::LinkInvocation Invokes::invocation_of(const Command& command) const noexcept {
    return {static_cast<std::uint32_t>(space_.layout().process(command.target)),
            static_cast<std::uint32_t>(command.operand), calls_[command.expected].argument_bytes,
            static_cast<std::uint32_t>(command.expected)};
}

base::Code Invokes::put_result(const Command& command, std::span<const std::byte> result) noexcept {
    const Call& call = calls_[command.expected];
    if (result.size() > call.result.size() + call.result_tail.size()) return base::Code::limit;
    write_result(result, call.result, call.result_tail);
    if (call.result_bytes != nullptr) {
        *call.result_bytes = static_cast<std::uint32_t>(result.size());
    }
    return base::Code::ok;
}

std::string Invokes::subject(const Command& command) const {
    const local::NumberedOperation* row = table_.find(static_cast<std::uint32_t>(command.operand));
    const std::string owner = " on memory of " + space_.owner_name(command.target);
    if (row == nullptr) {
        return subject_of(command, space_.rank()) + ": operation " +
               std::to_string(command.operand) + " (unknown)" + owner;
    }
    const std::string name = row->name;
    return (name.starts_with("acp_") ? name + by_rank(space_.rank()) : name) + owner;
}

base::Status Invokes::refusal(const Invocation& call) const {
    if (!has_process(call)) {
        return base::Status::worded(base::Code::argument, [&] {
            return "invoke" + by_rank(space_.rank()) + ": there is no process " +
                   std::to_string(call.process) + " in a job of " +
                   std::to_string(space_.segment().shape().procs);
        });
    }
    const local::NumberedOperation* row = table_.find(call.operation);
    if (row == nullptr) return failure_of(call, base::Code::unsupported);
    return base::Status::worded(base::Code::argument, [&] {
        return subject(command_of(call)) + ": it takes at most " +
               std::to_string(row->argument_bytes_max) + " bytes of arguments and room for " +
               std::to_string(row->result_bytes_max) + " bytes of result, not " +
               std::to_string(call.argument_bytes()) + " and " + std::to_string(call.result_room());
    });
}

base::Status Invokes::failure_of(const Command& command,
                                 std::span<const std::byte> arguments,
                                 base::Code code) const {
    return base::Status::worded(code, [&] {
        std::string why = base::phrase(code);
        const local::NumberedOperation* row =
            table_.find(static_cast<std::uint32_t>(command.operand));
        if (code == base::Code::unsupported) {
            why = row != nullptr
                      ? "it reaches memory that is private to that rank, and another process "
                        "ran it; keep what operations work on in starter or claimed memory"
                      : "no layer has an operation of this number";
        } else if (code == base::Code::address || code == base::Code::stale) {
            why = "it reaches for an address that is no memory of that rank (" + why + ")";
        }
        if (row != nullptr && row->places_of != nullptr) why += "; " + row->places_of(arguments);
        return subject(command) + ": " + why;
    });
}

}  // namespace acp::gma
