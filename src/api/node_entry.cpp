// SPDX-License-Identifier: BSD-3-Clause
// Tries the inherited descriptor first: it needs no answer of the agent.
#include "api/node_entry.hpp"

#include <string>
#include <utility>
#include <vector>

#include "gateway/own_key.hpp"
#include "job/node_files.hpp"
#include "os/memory_file.hpp"

#include "claims/library_claims.hpp"

namespace acp::api {

namespace {

using base::Code;
using base::Result;
using base::Status;

// Opens the segment by a copy of the inherited descriptor.
Result<NodeEntry> enter_by_inheritance(int file) {
    auto copy = os::adopt_memory_file(file);
    if (!copy.is_ok()) return std::move(copy).failure();
    auto segment = node::Segment::open(std::move(copy).value());
    if (!segment.is_ok()) return std::move(segment).failure();
    if (auto status = segment.value().check_ranges(claims::library_claims()); !status.is_ok()) {
        return status;
    }
    if (!gateway::has_inherited_own_key(segment.value())) {
        return Status(Code::state, "the descriptor of the key for other nodes is not there");
    }
    return NodeEntry{std::move(segment).value(), {}, file};
}

Result<NodeEntry> enter_by_request(const job::NodeSocket& socket) {
    enum : std::size_t { segment_file, event_file, key_file, files_max };

    auto given = job::ask_for_node_files(socket);
    if (!given.is_ok()) return std::move(given).failure();
    std::vector<os::FileDescriptor> files = std::move(given).value();
    files.resize(files_max);
    auto segment =
        node::Segment::open(std::move(files[segment_file]), std::move(files[event_file]));
    if (!segment.is_ok()) return std::move(segment).failure();
    if (auto status = segment.value().check_ranges(claims::library_claims()); !status.is_ok()) {
        return status;
    }
    return NodeEntry{std::move(segment).value(), std::move(files[key_file])};
}

}  // namespace

Result<NodeEntry> enter_node(const job::Identity& identity) {
    Status not_inherited(Code::state, "no descriptor of it was inherited");
    if (identity.node_file >= 0) {
        auto entry = enter_by_inheritance(identity.node_file);
        if (entry.is_ok()) return entry;
        not_inherited = std::move(entry).failure();
    }
    // another build or a limit is no better by the other way
    const bool is_gone =
        not_inherited.code() == Code::state || not_inherited.code() == Code::system;
    if (!is_gone) {
        return std::move(not_inherited)
            .within("taking the node's memory, which acprun gave to this process");
    }
    if (!identity.node_socket) {
        return std::move(not_inherited)
            .within(
                "the node's memory, which acprun gave to this process, is not there: the "
                "program, or one that started it, closed its descriptor before acp_init");
    }
    auto entry = enter_by_request(*identity.node_socket);
    if (entry.is_ok()) return entry;
    Status failure = std::move(entry).failure();
    return Status(
        failure.code() == Code::peer ? Code::state : failure.code(),
        "the node's memory cannot be taken. As inherited from acprun: " +
            std::string(not_inherited.message()) +
            ". From the node's agent (ACP_NODE_SOCKET): " + std::string(failure.message()) +
            ". A program that belongs to no job of acprun needs ACP_SINGLETON=1, or "
            "ACP_NODE_FD and ACP_NODE_SOCKET unset");
}

}  // namespace acp::api
