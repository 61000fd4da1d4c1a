// SPDX-License-Identifier: BSD-3-Clause
// <acp/team.h>: broadcast, reductions and scans of a team.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "api/team_calls.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using base::Code;
using base::Result;
using base::Status;
using team::CollectiveCall;
using team::Combiner;
using team::Signature;

constexpr std::array<const char*, 7> type_names{
    "", "ACP_INT32", "ACP_UINT32", "ACP_INT64", "ACP_UINT64", "ACP_FLOAT", "ACP_DOUBLE"};
constexpr std::array<const char*, 6> operation_names{"ACP_SUM", "ACP_MIN", "ACP_MAX",
                                                     "ACP_AND", "ACP_OR",  "ACP_XOR"};

bool is_type(int number) noexcept {
    return number >= ACP_INT32 && number <= ACP_DOUBLE;
}

bool is_operation(int number) noexcept {
    return number >= ACP_SUM && number <= ACP_XOR;
}

[[gnu::cold, gnu::noinline]] Status no_combiner(int type, int operation) {
    if (is_operation(type) && is_type(operation)) {
        return {Code::argument,
                "type and operation are swapped: type is " +
                    std::string(operation_names[static_cast<std::size_t>(type - ACP_SUM)]) +
                    ", and operation is " + type_names[static_cast<std::size_t>(operation)] +
                    "; the type comes first"};
    }
    if (!is_type(type)) return Status(Code::argument, "there is no type " + std::to_string(type));
    if (!is_operation(operation))
        return Status(Code::argument, "there is no operation " + std::to_string(operation));
    return Status(Code::argument,
                  std::string(operation_names[static_cast<std::size_t>(operation - ACP_SUM)]) +
                      " combines integers only, not " + type_names[static_cast<std::size_t>(type)]);
}

Result<Combiner> combiner_by(acp_combine_t combine, void* context, std::uint64_t size) {
    if (combine == nullptr) return Status(Code::argument, "combine is NULL");
    if (size == 0) return Status(Code::argument, "an element has 0 bytes");
    if (size > team::board_chunk_bytes) {
        return Status(Code::limit, "an element has " + std::to_string(size) + " bytes, of " +
                                       std::to_string(team::board_chunk_bytes) + " at most");
    }
    return Combiner(combine, context, size);
}

// The arguments of a reduction.
struct Arguments {
    CollectiveCall call;
    const void* send;
    void* receive;
    std::uint64_t count;
    int root;
};

template <typename Make>
Status reduce(const Make& make,
              acp_team_t handle,
              const Arguments& what,
              const Combiner& combiner) {
    const Combiner how = combiner;  // a copy, for a call that continues after this one has returned
    std::uint64_t bytes = 0;
    if (auto status =
            api::multiply({"count", what.count, how.element_bytes(), "bytes of an element"}, bytes);
        !status.is_ok())
        return status;
    const bool is_for_all = what.call != CollectiveCall::reduce;
    const auto check = [&](const team::Membership& members) -> Status {
        Status status = is_for_all ? Status() : api::check_rank(members, "root", what.root);
        if (status.is_ok()) status = api::check_buffer("send", what.send, bytes);
        bool has_result = is_for_all || members.own() == static_cast<std::uint32_t>(what.root);
        if (what.call == CollectiveCall::exscan) has_result = members.own() != 0;
        if (status.is_ok()) {
            // Refused alike on all members, also where the result does not go.
            status = has_result ? api::check_buffer("recv", what.receive, bytes)
                                : api::refuse_shared("recv", what.receive, bytes);
        }
        return status;
    };
    const auto to = static_cast<std::uint32_t>(is_for_all ? 0 : what.root);
    return make(handle, Signature(what.call, bytes, to, how.combination()), check,
                [what, how, to](team::Team& team) {
                    const team::Reduction reduction{static_cast<const char*>(what.send),
                                                    static_cast<char*>(what.receive), what.count,
                                                    &how};
                    switch (what.call) {
                        case CollectiveCall::scan:
                            return team::scan(team, reduction, team::ScanKind::inclusive);
                        case CollectiveCall::exscan:
                            return team::scan(team, reduction, team::ScanKind::exclusive);
                        case CollectiveCall::allreduce:
                            return team::all_reduce(team, reduction);
                        default:
                            return team::reduce(team, reduction, to);
                    }
                });
}

// The bodies of both forms of a call. Each takes the way to make the call.

// A reduction by an operation of the interface.
auto reduction(acp_team_t handle, const Arguments& what, int type, int operation) {
    return [=](const auto& make) {
        const Combiner* const found = Combiner::of(type, operation);
        return found != nullptr ? reduce(make, handle, what, *found) : no_combiner(type, operation);
    };
}

// A reduction by a function of the program.
auto reduction(acp_team_t handle,
               const Arguments& what,
               acp_combine_t combine,
               void* context,
               std::uint64_t size) {
    return [=](const auto& make) -> Status {
        Result<Combiner> combiner = combiner_by(combine, context, size);
        if (!combiner.is_ok()) return std::move(combiner).failure();
        return reduce(make, handle, what, combiner.value());
    };
}

auto broadcast(acp_team_t handle, void* buf, size_t size, int root) {
    return [=](const auto& make) {
        std::uint64_t bytes = 0;
        if (auto status = api::multiply({"size", size}, bytes); !status.is_ok()) return status;
        const auto from = static_cast<std::uint32_t>(root);
        return make(
            handle, Signature(CollectiveCall::broadcast, bytes, from),
            [&](const team::Membership& members) {
                Status status = api::check_rank(members, "root", root);
                return status.is_ok() ? api::check_buffer("buf", buf, bytes) : std::move(status);
            },
            [=](team::Team& team) {
                return team::broadcast(team, static_cast<char*>(buf), bytes, from);
            });
    };
}

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-function-size): the arguments of both sides, not options

int acp_broadcast_team(acp_team_t team, void* buf, size_t size, int root) {
    return api::run_team_call("acp_broadcast_team", broadcast(team, buf, size, root));
}

acp_team_request_t acp_nbbroadcast_team(acp_team_t team, void* buf, size_t size, int root) {
    return api::begin_team_call("acp_nbbroadcast_team", broadcast(team, buf, size, root));
}

int acp_reduce_team(acp_team_t team,
                    const void* send,
                    void* recv,
                    size_t count,
                    int type,
                    int operation,
                    int root) {
    return api::run_team_call(
        "acp_reduce_team",
        reduction(team, {CollectiveCall::reduce, send, recv, count, root}, type, operation));
}

acp_team_request_t acp_nbreduce_team(acp_team_t team,
                                     const void* send,
                                     void* recv,
                                     size_t count,
                                     int type,
                                     int operation,
                                     int root) {
    return api::begin_team_call(
        "acp_nbreduce_team",
        reduction(team, {CollectiveCall::reduce, send, recv, count, root}, type, operation));
}

int acp_allreduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation) {
    return api::run_team_call(
        "acp_allreduce_team",
        reduction(team, {CollectiveCall::allreduce, send, recv, count, 0}, type, operation));
}

acp_team_request_t acp_nballreduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation) {
    return api::begin_team_call(
        "acp_nballreduce_team",
        reduction(team, {CollectiveCall::allreduce, send, recv, count, 0}, type, operation));
}

int acp_reduce_by_team(acp_team_t team,
                       const void* send,
                       void* recv,
                       size_t count,
                       size_t size,
                       acp_combine_t combine,
                       void* context,
                       int root) {
    return api::run_team_call(
        "acp_reduce_by_team",
        reduction(team, {CollectiveCall::reduce, send, recv, count, root}, combine, context, size));
}

acp_team_request_t acp_nbreduce_by_team(acp_team_t team,
                                        const void* send,
                                        void* recv,
                                        size_t count,
                                        size_t size,
                                        acp_combine_t combine,
                                        void* context,
                                        int root) {
    return api::begin_team_call(
        "acp_nbreduce_by_team",
        reduction(team, {CollectiveCall::reduce, send, recv, count, root}, combine, context, size));
}

int acp_allreduce_by_team(acp_team_t team,
                          const void* send,
                          void* recv,
                          size_t count,
                          size_t size,
                          acp_combine_t combine,
                          void* context) {
    return api::run_team_call(
        "acp_allreduce_by_team",
        reduction(team, {CollectiveCall::allreduce, send, recv, count, 0}, combine, context, size));
}

acp_team_request_t acp_nballreduce_by_team(acp_team_t team,
                                           const void* send,
                                           void* recv,
                                           size_t count,
                                           size_t size,
                                           acp_combine_t combine,
                                           void* context) {
    return api::begin_team_call(
        "acp_nballreduce_by_team",
        reduction(team, {CollectiveCall::allreduce, send, recv, count, 0}, combine, context, size));
}

int acp_scan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation) {
    return api::run_team_call(
        "acp_scan_team",
        reduction(team, {CollectiveCall::scan, send, recv, count, 0}, type, operation));
}

acp_team_request_t acp_nbscan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation) {
    return api::begin_team_call(
        "acp_nbscan_team",
        reduction(team, {CollectiveCall::scan, send, recv, count, 0}, type, operation));
}

int acp_scan_by_team(acp_team_t team,
                     const void* send,
                     void* recv,
                     size_t count,
                     size_t size,
                     acp_combine_t combine,
                     void* context) {
    return api::run_team_call(
        "acp_scan_by_team",
        reduction(team, {CollectiveCall::scan, send, recv, count, 0}, combine, context, size));
}

acp_team_request_t acp_nbscan_by_team(acp_team_t team,
                                      const void* send,
                                      void* recv,
                                      size_t count,
                                      size_t size,
                                      acp_combine_t combine,
                                      void* context) {
    return api::begin_team_call(
        "acp_nbscan_by_team",
        reduction(team, {CollectiveCall::scan, send, recv, count, 0}, combine, context, size));
}

int acp_exscan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation) {
    return api::run_team_call(
        "acp_exscan_team",
        reduction(team, {CollectiveCall::exscan, send, recv, count, 0}, type, operation));
}

acp_team_request_t acp_nbexscan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation) {
    return api::begin_team_call(
        "acp_nbexscan_team",
        reduction(team, {CollectiveCall::exscan, send, recv, count, 0}, type, operation));
}

int acp_exscan_by_team(acp_team_t team,
                       const void* send,
                       void* recv,
                       size_t count,
                       size_t size,
                       acp_combine_t combine,
                       void* context) {
    return api::run_team_call(
        "acp_exscan_by_team",
        reduction(team, {CollectiveCall::exscan, send, recv, count, 0}, combine, context, size));
}

acp_team_request_t acp_nbexscan_by_team(acp_team_t team,
                                        const void* send,
                                        void* recv,
                                        size_t count,
                                        size_t size,
                                        acp_combine_t combine,
                                        void* context) {
    return api::begin_team_call(
        "acp_nbexscan_by_team",
        reduction(team, {CollectiveCall::exscan, send, recv, count, 0}, combine, context, size));
}

// NOLINTEND(readability-function-size)

}  // extern "C"
