// SPDX-License-Identifier: BSD-3-Clause
// acp-agent --reach, as acprun starts it for a node on another machine: runs ssh, waits for the relay there, and
// carries the streams of the agent, so that to acprun it looks like an agent of this machine. Says by the talk with
// acprun why a machine could not be reached, with what ssh said. Asks for no password. One thread, and another
// where standard input is a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/file_descriptor.hpp"

namespace acp::agent {

struct Reach {
    std::string host;
    std::string agent;              // the path of acp-agent there
    std::vector<std::string> ssh;   // the command, before host and command
    std::uint64_t patience_ns = 0;  // for the machine to answer
};

// Runs until the agent there is gone. Returns its exit code.
//   channel  the talk with acprun
int reach(const Reach& wanted, os::FileDescriptor channel);

}  // namespace acp::agent
