// SPDX-License-Identifier: BSD-3-Clause
// Describes calls as text.
#include "team/signature.hpp"

#include <array>
#include <string_view>

#include <acp/team.h>

namespace acp::team {

namespace {

constexpr std::array<std::string_view, 7> type_names{"own elements", "int32", "uint32", "int64",
                                                     "uint64",       "float", "double"};
constexpr std::array<std::string_view, 6> operation_names{"sum", "min", "max", "and", "or", "xor"};

template <std::size_t count>
std::string_view name_in(const std::array<std::string_view, count>& names, std::size_t index) {
    return index < count ? names[index] : "unknown";
}

std::string_view name_of_operation(std::uint8_t operation) {
    return operation == 0 ? "own function"
                          : name_in(operation_names, std::size_t{operation} - ACP_SUM);
}

bool is_reduction(CollectiveCall call) noexcept {
    return call == CollectiveCall::reduce || call == CollectiveCall::allreduce ||
           call == CollectiveCall::scan;
}

// "": the call has no root.
std::string_view root_word(CollectiveCall call) noexcept {
    switch (call) {
        case CollectiveCall::broadcast:
        case CollectiveCall::scatter:
            return " from member ";
        case CollectiveCall::reduce:
        case CollectiveCall::gather:
            return " to member ";
        default:
            return "";
    }
}

}  // namespace

node::AwaitedCall awaited_call_of(CollectiveCall call) noexcept {
    return static_cast<node::AwaitedCall>(static_cast<std::uint32_t>(node::AwaitedCall::team_none) +
                                          static_cast<std::uint32_t>(call));
}

std::string_view name_of(CollectiveCall call) noexcept {
    return node::name_of(awaited_call_of(call));
}

std::string describe(const Signature& signature) {
    const CollectiveCall call = signature.call();
    std::string text = signature.is_non_blocking()
                           ? node::non_blocking_name_of(awaited_call_of(call))
                           : std::string(name_of(call));
    if (call == CollectiveCall::free_memory) {
        text += " of what acp_malloc_team number " + std::to_string(signature.bytes) + " gave";
    } else if (call == CollectiveCall::free_plan) {
        text += " of plan number " + std::to_string(signature.bytes) + " of the team";
    } else if (call >= CollectiveCall::malloc && call != CollectiveCall::compile_pattern) {
        text += " of " + std::to_string(signature.bytes) + " bytes";
    }
    if (is_reduction(call)) {
        const Combination combination = signature.combination();
        text += " (";
        text += name_in(type_names, combination.type);
        text += ", ";
        text += name_of_operation(combination.operation);
        text += ")";
    }
    if (const std::string_view word = root_word(call); !word.empty()) {
        text += word;
        text += std::to_string(signature.root());
    }
    return text;
}

}  // namespace acp::team
