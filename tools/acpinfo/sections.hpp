// SPDX-License-Identifier: BSD-3-Clause
// Where acpinfo's facts come from: one function per section of the report. They look at this
// machine and this process through os/ and the kernel's text files; some try things out (open,
// fork, wake a thread) and put everything back. Call from one thread.
#pragma once

#include "base/config.hpp"

#include "report.hpp"

namespace acp::acpinfo {

// Version, commit, compiler, flags.
[[nodiscard]] Section build_section();

// Processor, CPUs, memory, limits.
[[nodiscard]] Section machine_section();

// The ways bytes travel on one node: tried, or why not and what helps. Forks.
[[nodiscard]] Section paths_section(const base::Config& config);

// The section about jobs over several machines: cipher, addresses, ports, socket buffers, and the
// commands that can start agents on other machines. Measures for about 5 ms.
[[nodiscard]] Section network_section(const base::Config& config);

// What ACP uses or could use of this kernel. Measures for about 1 ms on a kernel that does not record
// writes to shared pages itself.
[[nodiscard]] Section kernel_section(const base::Config& config);

// Settings of the machine that cost speed; one fact per hint. Measures for about 50 ms.
[[nodiscard]] Section hints_section();

}  // namespace acp::acpinfo
