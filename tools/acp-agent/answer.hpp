// SPDX-License-Identifier: BSD-3-Clause
// acp-agent --relay, which ssh starts on another machine: starts the agent of this machine and
// carries its streams over its own standard input and output. Ends when the agent has ended. When
// the connection is gone, the agent finds its launcher gone. One thread.
#pragma once

namespace acp::agent {

// Returns the agent's exit code, in a shell's form.
int answer();

}  // namespace acp::agent
