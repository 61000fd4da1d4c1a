// SPDX-License-Identifier: BSD-3-Clause
// <acp/team.h>: gather, scatter and all-to-all of a team.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "api/team_calls.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using base::Code;
using base::Status;
using team::CollectiveCall;
using team::Membership;
using team::Signature;

// Checks the size per member, and computes the bytes of all members.
Status check_sizes(const Membership& members, std::uint64_t bytes, std::uint64_t& all) {
    return api::multiply({"size", bytes, members.size(), "members"}, all);
}

// The buffers of a gather or scatter.
struct Buffers {
    const void* one;  // `bytes` bytes
    const void* all;  // `bytes` bytes for each member
    const char* one_name;
    const char* all_name;
};

Status check(const Membership& members,
             std::uint64_t bytes,
             bool is_all_used,
             const Buffers& buffers) {
    std::uint64_t all = 0;
    Status status = check_sizes(members, bytes, all);
    if (status.is_ok()) status = api::check_buffer(buffers.one_name, buffers.one, bytes);
    if (status.is_ok() && is_all_used)
        status = api::check_buffer(buffers.all_name, buffers.all, all);
    return status;
}

Status check_with_root(const Membership& members,
                       std::uint64_t bytes,
                       int root,
                       const Buffers& buffers) {
    Status status = api::check_rank(members, "root", root);
    if (!status.is_ok()) return status;
    return check(members, bytes, members.own() == static_cast<std::uint32_t>(root), buffers);
}

// A member's blocks to all members, or from all, in alltoallv.
struct PairedBlocks {
    const void* buffer;
    const size_t* sizes;
    const size_t* offsets;
    const char* name;
};

// "send_sizes[2] is 9, send_offsets[2] is 16"
std::string text_of_block(const PairedBlocks& side, std::uint32_t rank) {
    const std::string place = "[" + std::to_string(rank) + "] is ";
    return std::string(side.name) + "_sizes" + place + std::to_string(side.sizes[rank]) + ", " +
           side.name + "_offsets" + place + std::to_string(side.offsets[rank]);
}

Status check_blocks(const Membership& members, const PairedBlocks& side) {
    if (side.sizes == nullptr || side.offsets == nullptr) {
        return {Code::argument, std::string(side.name) +
                                    (side.sizes == nullptr ? "_sizes" : "_offsets") + " is NULL"};
    }
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        std::uint64_t bytes = 0;
        Status status = api::multiply({"the size", side.sizes[rank]}, bytes);
        if (status.is_ok()) status = api::multiply({"the offset", side.offsets[rank]}, bytes);
        if (status.is_ok()) status = api::check_buffer(side.name, side.buffer, side.sizes[rank]);
        if (!status.is_ok()) return std::move(status).within(text_of_block(side, rank));
    }
    return {};
}

template <typename Make>
Status gather(const Make& make, acp_team_t handle, const Buffers& buffers, size_t size, int root) {
    const auto to = static_cast<std::uint32_t>(root);
    const auto* const send = static_cast<const char*>(buffers.one);
    auto* const receive = static_cast<char*>(const_cast<void*>(buffers.all));
    return make(
        handle, Signature(CollectiveCall::gather, size, to),
        [&](const Membership& members) { return check_with_root(members, size, root, buffers); },
        [=](team::Team& team) { return team::gather(team, send, receive, size, to); });
}

template <typename Make>
Status all_gather(const Make& make, acp_team_t handle, const Buffers& buffers, size_t size) {
    const auto* const send = static_cast<const char*>(buffers.one);
    auto* const receive = static_cast<char*>(const_cast<void*>(buffers.all));
    return make(
        handle, Signature(CollectiveCall::allgather, size),
        [&](const Membership& members) { return check(members, size, true, buffers); },
        [=](team::Team& team) { return team::all_gather(team, send, receive, size); });
}

template <typename Make>
Status scatter(const Make& make, acp_team_t handle, const Buffers& buffers, size_t size, int root) {
    const auto from = static_cast<std::uint32_t>(root);
    const auto* const send = static_cast<const char*>(buffers.all);
    auto* const receive = static_cast<char*>(const_cast<void*>(buffers.one));
    return make(
        handle, Signature(CollectiveCall::scatter, size, from),
        [&](const Membership& members) { return check_with_root(members, size, root, buffers); },
        [=](team::Team& team) { return team::scatter(team, send, receive, size, from); });
}

template <typename Make>
Status all_to_all(const Make& make, acp_team_t handle, const void* send, size_t size, void* recv) {
    return make(
        handle, Signature(CollectiveCall::alltoall, size),
        [&](const Membership& members) {
            std::uint64_t all = 0;
            Status status = check_sizes(members, size, all);
            if (status.is_ok()) status = api::check_buffer("send", send, all);
            return status.is_ok() ? api::check_buffer("recv", recv, all) : std::move(status);
        },
        [=](team::Team& team) {
            const std::vector<std::size_t> sizes(team.members().size(), size);
            std::vector<std::size_t> offsets(sizes.size());
            for (std::size_t rank = 0; rank < offsets.size(); ++rank) offsets[rank] = rank * size;
            return team::all_to_all(team, static_cast<const char*>(send), {sizes, offsets},
                                    static_cast<char*>(recv), {sizes, offsets});
        });
}

template <typename Make>
Status all_to_all_v(const Make& make,
                    acp_team_t handle,
                    const PairedBlocks& sent,
                    const PairedBlocks& received) {
    return make(
        handle, Signature(CollectiveCall::alltoallv, 0),
        [&](const Membership& members) -> Status {
            Status status = check_blocks(members, sent);
            if (status.is_ok()) status = check_blocks(members, received);
            const std::uint32_t own = members.own();
            if (status.is_ok() && sent.sizes[own] != received.sizes[own]) {
                return {Code::argument,
                        "the caller sends itself " + std::to_string(sent.sizes[own]) +
                            " bytes and expects " + std::to_string(received.sizes[own])};
            }
            return status;
        },
        [sent, received](team::Team& team) {
            const std::size_t count = team.members().size();
            return team::all_to_all(
                team, static_cast<const char*>(sent.buffer),
                {std::span(sent.sizes, count), std::span(sent.offsets, count)},
                static_cast<char*>(const_cast<void*>(received.buffer)),
                {std::span(received.sizes, count), std::span(received.offsets, count)});
        });
}

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-function-size): the arguments of both sides, not options

int acp_gather_team(acp_team_t team, const void* send, size_t size, void* recv, int root) {
    return api::run_team_call("acp_gather_team", [&] {
        return gather(api::MakeNow(), team, {send, recv, "send", "recv"}, size, root);
    });
}

acp_team_request_t acp_nbgather_team(
    acp_team_t team, const void* send, size_t size, void* recv, int root) {
    return api::begin_team_call("acp_nbgather_team", [&](const api::Begin& begin) {
        return gather(begin, team, {send, recv, "send", "recv"}, size, root);
    });
}

int acp_allgather_team(acp_team_t team, const void* send, size_t size, void* recv) {
    return api::run_team_call("acp_allgather_team", [&] {
        return all_gather(api::MakeNow(), team, {send, recv, "send", "recv"}, size);
    });
}

acp_team_request_t acp_nballgather_team(acp_team_t team,
                                        const void* send,
                                        size_t size,
                                        void* recv) {
    return api::begin_team_call("acp_nballgather_team", [&](const api::Begin& begin) {
        return all_gather(begin, team, {send, recv, "send", "recv"}, size);
    });
}

int acp_scatter_team(acp_team_t team, const void* send, size_t size, void* recv, int root) {
    return api::run_team_call("acp_scatter_team", [&] {
        return scatter(api::MakeNow(), team, {recv, send, "recv", "send"}, size, root);
    });
}

acp_team_request_t acp_nbscatter_team(
    acp_team_t team, const void* send, size_t size, void* recv, int root) {
    return api::begin_team_call("acp_nbscatter_team", [&](const api::Begin& begin) {
        return scatter(begin, team, {recv, send, "recv", "send"}, size, root);
    });
}

int acp_alltoall_team(acp_team_t team, const void* send, size_t size, void* recv) {
    return api::run_team_call("acp_alltoall_team",
                              [&] { return all_to_all(api::MakeNow(), team, send, size, recv); });
}

acp_team_request_t acp_nballtoall_team(acp_team_t team, const void* send, size_t size, void* recv) {
    return api::begin_team_call("acp_nballtoall_team", [&](const api::Begin& begin) {
        return all_to_all(begin, team, send, size, recv);
    });
}

int acp_alltoallv_team(acp_team_t team,
                       const void* send,
                       const size_t* send_sizes,
                       const size_t* send_offsets,
                       void* recv,
                       const size_t* recv_sizes,
                       const size_t* recv_offsets) {
    return api::run_team_call("acp_alltoallv_team", [&] {
        return all_to_all_v(api::MakeNow(), team, {send, send_sizes, send_offsets, "send"},
                            {recv, recv_sizes, recv_offsets, "recv"});
    });
}

acp_team_request_t acp_nballtoallv_team(acp_team_t team,
                                        const void* send,
                                        const size_t* send_sizes,
                                        const size_t* send_offsets,
                                        void* recv,
                                        const size_t* recv_sizes,
                                        const size_t* recv_offsets) {
    return api::begin_team_call("acp_nballtoallv_team", [&](const api::Begin& begin) {
        return all_to_all_v(begin, team, {send, send_sizes, send_offsets, "send"},
                            {recv, recv_sizes, recv_offsets, "recv"});
    });
}

// NOLINTEND(readability-function-size)

}  // extern "C"
