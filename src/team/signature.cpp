// SPDX-License-Identifier: BSD-3-Clause
// Calls in words.
#include "team/signature.hpp"

#include <array>
#include <string_view>

#include <acp/team.h>

namespace acp::team {

namespace {

constexpr std::array<const char*, 15> call_names{
    "no call on a team",  "acp_sync_team",      "acp_split_team",     "acp_split_team_by_node",
    "acp_create_team",    "acp_free_team",      "acp_broadcast_team", "acp_reduce_team",
    "acp_allreduce_team", "acp_gather_team",    "acp_allgather_team", "acp_scatter_team",
    "acp_alltoall_team",  "acp_alltoallv_team", "acp_scan_team"};

constexpr std::array<std::string_view, 7> type_names{"own elements", "int32", "uint32", "int64",
                                                     "uint64",       "float", "double"};
constexpr std::array<std::string_view, 7> operation_names{"own function", "sum", "min", "max",
                                                          "and",          "or",  "xor"};

template <std::size_t count>
std::string_view name_in(const std::array<std::string_view, count>& names, std::size_t index) {
    return index < count ? names[index] : "unknown";
}

bool is_reduction(CollectiveCall call) noexcept {
    return call == CollectiveCall::reduce || call == CollectiveCall::allreduce ||
           call == CollectiveCall::scan;
}

// "" where a call has no root.
std::string_view root_word(CollectiveCall call) noexcept {
    switch (call) {
        case CollectiveCall::broadcast:
        case CollectiveCall::scatter:
            return " from rank ";
        case CollectiveCall::reduce:
        case CollectiveCall::gather:
            return " to rank ";
        default:
            return "";
    }
}

}  // namespace

const char* name_of(CollectiveCall call) noexcept {
    const auto index = static_cast<std::size_t>(call);
    return index < call_names.size() ? call_names[index] : "an unknown call on a team";
}

std::string describe(const Signature& signature) {
    const CollectiveCall call = signature.call();
    std::string text = name_of(call);
    if (call >= CollectiveCall::broadcast)
        text += " of " + std::to_string(signature.bytes) + " bytes";
    if (is_reduction(call)) {
        const Combination combination = signature.combination();
        text += " (";
        text += name_in(type_names, combination.type);
        text += ", ";
        text += name_in(operation_names, combination.operation);
        text += ")";
    }
    if (const std::string_view word = root_word(call); !word.empty()) {
        text += word;
        text += std::to_string(signature.root());
    }
    return text;
}

}  // namespace acp::team
