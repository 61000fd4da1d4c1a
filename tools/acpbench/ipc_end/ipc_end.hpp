// SPDX-License-Identifier: BSD-3-Clause
// One end of the exchange of paper 004 over what the system offers, or by memory. Ranks and device
// processes run the same source: it is part of this program, and a library that a device process
// loads. Knows only POSIX, nothing of ACP.
// Ends of different exchanges may run in any threads at the same time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace acp::bench {

// How the bytes travel.
enum class IpcWay : std::uint32_t {
    fifo,          // two named pipes
    queue,         // two POSIX message queues
    local_socket,  // a stream socket of the node
    tcp,           // a TCP connection
    board          // another process moves them between the boards of both ends
};

// What an end runs.
struct IpcExchange {
    IpcWay way = IpcWay::fifo;
    std::uint32_t is_client = 0;        // 0 or 1
    std::uint64_t bytes = 0;            // the length of each message, 1 or more
    std::uint64_t rounds = 0;           // messages there and back
    std::array<char, 192> folder = {};  // which only these two ends use, for pipes and sockets
};

// The memory of an end, from which and into which another process moves its bytes.
struct IpcBoard {
    alignas(64) std::atomic<std::uint64_t> arrived;  // messages in `in`; the mover writes it last
    alignas(64) std::atomic<std::uint64_t> sent;     // messages in `out`; the end writes it last
    alignas(64) std::uint64_t in = 0;                // offsets from the start of the board
    std::uint64_t out = 0;
};

}  // namespace acp::bench

extern "C" {

// Runs an end. Waits at most 20 seconds for the other end to come.
//   board     of IpcWay::board; else unused
//   times_ns  of the client, as run_ipc_client(); else unused
// Returns 0 or an errno value: EBADMSG (wrong content), ETIMEDOUT (the other end did not come, or no
// message), EPIPE (it has gone), else that of the call that failed.
int acpbench_ipc_end(const acp::bench::IpcExchange* exchange,
                     acp::bench::IpcBoard* board,
                     std::uint64_t* times_ns);

}  // extern "C"
