// SPDX-License-Identifier: BSD-3-Clause
// The second way by which a rank gets the descriptors of its node: it asks the agent over a local
// socket. The first way is to inherit them, which fails below a program that closes descriptors
// before it starts the rank. The socket's name and a token of the job stand in the environment;
// they admit a process of the agent's user and of no other, and are no key of anything else. Knows
// nothing of what the files contain. Any thread.
// Tests: tests/unit/job/node_files_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::job {

// Where the agent answers, and what admits a process: "NAME:TOKEN" in the environment.
struct NodeSocket {
    std::string name;
    std::string token;

    // Returns a random name and a random token. Other users can read the name, but not the token.
    static NodeSocket invent();

    // Errors: argument (not the text of one).
    static base::Result<NodeSocket> from(std::string_view text);

    [[nodiscard]] std::string text() const { return name + ":" + token; }
};

// Asks the agent. Returns the node's files in the order in which the agent gave them to
// answer_request(). Blocks, for at most some 10 seconds. Errors: peer (no agent answers under this
// name, or another user's process does), state (the agent refuses this process: the message has its
// words; or no answer in time), limit (descriptors used up), system.
base::Result<std::vector<os::FileDescriptor>> ask_for_node_files(const NodeSocket& socket);

// In the agent: answers what has come over a connection.
//   files  at most os::local_message_files_max open descriptors
// false when nothing has come yet; else the connection can be closed.
[[nodiscard]] bool answer_request(int connection,
                                  const NodeSocket& own,
                                  std::span<const int> files);

}  // namespace acp::job
