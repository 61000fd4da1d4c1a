// SPDX-License-Identifier: BSD-3-Clause
// How a process that is to be a rank gets the files of its node: by inheritance from the agent, or, where a program between the
// two has closed them, from the agent over a local socket. One thread: the one that calls acp_init. Tests: tests/tools
// (acprun_wrappers_test.py).
#pragma once

#include "base/status.hpp"
#include "job/identity.hpp"
#include "node/segment.hpp"
#include "os/file_descriptor.hpp"

namespace acp::api {

struct NodeEntry {
    node::Segment segment;
    os::FileDescriptor own_key;  // for EpochLink::keep_own_key()
    // the inherited descriptor, which is still open and of which the segment has a copy; -1: there is none
    int superseded = -1;
};

// Opens the segment of the node.
//   identity  of a process that a launcher has started
// Errors: state (neither way leads to the files), mismatch, limit, system.
base::Result<NodeEntry> enter_node(const job::Identity& identity);

}  // namespace acp::api
