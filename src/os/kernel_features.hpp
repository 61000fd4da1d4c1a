// SPDX-License-Identifier: BSD-3-Clause
// Whether this kernel, as seen from this process, has the facilities that ACP uses or could use.
// Each probe uses the facility, since a sandbox may refuse what the kernel has. Any thread; control
// paths only; no descriptor stays open.
#pragma once

namespace acp::os {

// 0 when the facility works, else the errno of the refusal.
using Refusal = int;

// memfd_create with sealing.
[[nodiscard]] Refusal probe_memory_file() noexcept;

// pidfd_open.
[[nodiscard]] Refusal probe_process_descriptor() noexcept;

// membarrier's expedited command among registered processes; registers this one.
[[nodiscard]] Refusal probe_membarrier() noexcept;

// futex_waitv: waiting on several futexes at once.
[[nodiscard]] Refusal probe_futex_waitv() noexcept;

// io_uring_setup.
[[nodiscard]] Refusal probe_io_uring() noexcept;

// Segmentation of large UDP sends by the kernel (UDP_SEGMENT).
[[nodiscard]] Refusal probe_udp_segmentation() noexcept;

// Joining of received UDP datagrams by the kernel (UDP_GRO).
[[nodiscard]] Refusal probe_udp_joining() noexcept;

// Whether a child process may read this one's memory as two ranks of a node would: the child reads
// a random token that was written after the fork. EPERM where ptrace rules forbid it, EBADMSG when
// other bytes arrived. Forks, so call it while no other thread runs. Blocks until the child has
// ended.
[[nodiscard]] Refusal probe_attach() noexcept;

}  // namespace acp::os
