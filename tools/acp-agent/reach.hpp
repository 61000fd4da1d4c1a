// SPDX-License-Identifier: BSD-3-Clause
// acp-agent --reach, which acprun starts for a node on another machine: runs ssh, waits for the
// relay there, and carries the agent's streams, so that acprun sees it like an agent of this
// machine. If it cannot reach a machine, it sends acprun the reason and the output of ssh over the
// channel. Never asks for a password. One thread, and a second one if standard input is a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/file_descriptor.hpp"

namespace acp::agent {

struct Reach {
    std::string host;
    std::string agent;              // path of acp-agent on that machine
    std::vector<std::string> ssh;   // the command, to which host and remote command are appended
    std::uint64_t patience_ns = 0;  // time for the machine to answer
};

// Runs until the agent there has ended. Returns its exit code.
//   channel  the channel to acprun
int reach(const Reach& wanted, os::FileDescriptor channel);

}  // namespace acp::agent
