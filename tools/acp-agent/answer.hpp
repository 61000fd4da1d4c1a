// SPDX-License-Identifier: BSD-3-Clause
// acp-agent --relay, as ssh starts it on another machine: starts the agent of this machine and carries its streams
// over its own standard input and output. Ends when the agent has; when the connection is gone, the agent hears that
// its launcher is. One thread.
#pragma once

namespace acp::agent {

// Returns the agent's exit code, as a shell tells it.
int answer();

}  // namespace acp::agent
