// SPDX-License-Identifier: BSD-3-Clause
// Describes calls as text.
#include "team/signature.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <acp/team.h>

namespace acp::team {

namespace {

// In the order of CollectiveCall.
constexpr std::array<std::string_view, 29> call_names{
    "no call on a team",  "acp_sync_team",      "acp_split_team",        "acp_split_team_by_node",
    "acp_create_team",    "acp_free_team",      "acp_sync_team_notices", "acp_free_team_memory",
    "acp_malloc_team",    "acp_broadcast_team", "acp_reduce_team",       "acp_allreduce_team",
    "acp_gather_team",    "acp_allgather_team", "acp_scatter_team",      "acp_alltoall_team",
    "acp_alltoallv_team", "acp_scan_team",      "acp_exscan_team",       "acp_compile_pattern",
    "acp_free_plan",      "acp_init_dsm",       "acp_finalize_dsm",      "acp_alloc_dsm",
    "acp_free_dsm",       "acp_barrier_dsm",    "acp_alloc_home_dsm",    "acp_set_home_dsm",
    "acp_bind_dsm"};
static_assert(call_names.size() == static_cast<std::size_t>(CollectiveCall::bind_pages) + 1);

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

// "1st", "2nd", "11th".
std::string ordinal(std::uint64_t number) {
    const std::uint64_t last = number % 10;
    const bool is_teen = number / 10 % 10 == 1;
    const char* suffix = "th";
    if (!is_teen && last == 1) suffix = "st";
    if (!is_teen && last == 2) suffix = "nd";
    if (!is_teen && last == 3) suffix = "rd";
    return std::to_string(number) + suffix;
}

bool is_reduction(CollectiveCall call) noexcept {
    return call == CollectiveCall::reduce || call == CollectiveCall::allreduce ||
           call == CollectiveCall::scan || call == CollectiveCall::exscan;
}

bool has_bytes(CollectiveCall call) noexcept {
    switch (call) {
        case CollectiveCall::compile_pattern:
        case CollectiveCall::init_pages:
        case CollectiveCall::finalize_pages:
        case CollectiveCall::barrier_pages:
            return false;
        default:  // numbers beyond all calls too
            return call >= CollectiveCall::malloc;
    }
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

std::string_view name_of(CollectiveCall call) noexcept {
    const auto index = static_cast<std::size_t>(call);
    return index < call_names.size() ? call_names[index] : std::string_view("an unknown call");
}

CallName::CallName(const Signature& signature) noexcept {
    const auto append = [this](std::string_view part) {
        length_ += part.copy(text_.data() + length_, text_.size() - length_);
    };
    constexpr std::size_t prefix = sizeof "acp_" - 1;
    const std::string_view name = name_of(signature.call());
    append(name.substr(0, prefix));
    if (signature.is_non_blocking()) append("nb");
    append(name.substr(prefix));
    if (signature.has_timeout()) append("_timeout");
}

std::string describe(const Signature& signature) {
    const CollectiveCall call = signature.call();
    std::string text(CallName(signature).text());
    if (call == CollectiveCall::free_memory) {
        text += " of the team's " + ordinal(signature.bytes + 1) + " allocation by acp_malloc_team";
    } else if (call == CollectiveCall::free_plan) {
        text += " of the team's " + ordinal(signature.bytes) + " plan";
    } else if (call == CollectiveCall::free_pages) {
        text += " of the allocation at shared page " + std::to_string(signature.bytes);
    } else if (call == CollectiveCall::set_home_pages) {
        text += " of " + std::to_string(signature.bytes >> 32) + " pages from shared page " +
                std::to_string(signature.bytes & 0xffffffff) + " on to rank " +
                std::to_string(signature.root());
    } else if (call == CollectiveCall::bind_pages) {
        text += " of " + std::to_string(signature.bytes_bound()) + " bytes from byte " +
                std::to_string(signature.first_bound()) + " of the shared pages on";
    } else if (has_bytes(call)) {
        text += " of " + std::to_string(signature.bytes) + " bytes";
    }
    if (call == CollectiveCall::alloc_home_pages) {
        text += " by policy " + std::to_string(signature.combination().type) + " with argument " +
                std::to_string(signature.root());
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
