// SPDX-License-Identifier: BSD-3-Clause
// Obtains the files of its node for a process that becomes a rank: by inheritance from the agent,
// or, if a program between the two has closed them, from the agent over a local socket. One thread:
// the one that calls acp_init. Tests: tests/tools (acprun_wrappers_test.py).
#pragma once

#include "base/status.hpp"
#include "job/identity.hpp"
#include "node/segment.hpp"
#include "os/file_descriptor.hpp"

namespace acp::api {

struct NodeEntry {
    node::Segment segment;
    os::FileDescriptor own_key;  // goes to EpochLink::keep_own_key()
    // the inherited descriptor, which is still open and of which the segment has a copy; -1: there
    // is none
    int superseded = -1;
};

// Opens the segment of the node.
//   identity  of a process started by a launcher
// Errors: state (neither way leads to the files), mismatch, limit, system.
base::Result<NodeEntry> enter_node(const job::Identity& identity);

}  // namespace acp::api
