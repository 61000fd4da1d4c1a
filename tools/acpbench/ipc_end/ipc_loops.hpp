// SPDX-License-Identifier: BSD-3-Clause
// The exchange of paper 004 between two processes, as both ends run it: the client sends a number
// of bytes to the server, which sends as many back. The sender writes all bytes of a message, and
// the receiver reads and checks all of them. Knows nothing of how they travel. Any thread.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace acp::bench {

// The byte of which the client's messages and the server's answers consist.
[[nodiscard]] inline unsigned char ipc_byte(std::uint64_t round, bool is_answer) noexcept {
    return static_cast<unsigned char>(1 + 2 * (round % 127) + (is_answer ? 1 : 0));
}

inline void ipc_fill(char* message, std::uint64_t bytes, unsigned char content) noexcept {
    std::memset(message, content, bytes);
}

// Reads all bytes of a message. Returns whether each is `content`.
[[nodiscard]] inline bool ipc_is_filled(const char* message,
                                        std::uint64_t bytes,
                                        unsigned char content) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::uint64_t difference = 0;
    std::uint64_t at = 0;
    for (; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, message + at, sizeof word);
        difference |= word ^ (ones * content);
    }
    for (; at < bytes; ++at)
        difference |= static_cast<std::uint64_t>(static_cast<unsigned char>(message[at]) ^ content);
    return difference == 0;
}

[[nodiscard]] inline std::uint64_t ipc_now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// Where an end reads and writes messages.
struct IpcBuffers {
    char* in = nullptr;
    char* out = nullptr;
};

// Runs the client. Returns 0 or an errno value: EBADMSG (wrong content), or what the link returns.
//   link      send(round, data, bytes), receive(round, data, bytes): 0 or an errno value
//   times_ns  room for a time for each round: from before the message is written until the answer
//             was read
template <typename Link>
int run_ipc_client(Link& link,
                   std::uint64_t bytes,
                   std::uint64_t rounds,
                   const IpcBuffers& buffers,
                   std::uint64_t* times_ns) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const std::uint64_t start = ipc_now_ns();
        ipc_fill(buffers.out, bytes, ipc_byte(i, false));
        int failed = link.send(i, buffers.out, bytes);
        if (failed == 0) failed = link.receive(i, buffers.in, bytes);
        if (failed != 0) return failed;
        if (!ipc_is_filled(buffers.in, bytes, ipc_byte(i, true))) return EBADMSG;
        times_ns[i] = ipc_now_ns() - start;
    }
    return 0;
}

// Runs the server, as run_ipc_client().
template <typename Link>
int run_ipc_server(Link& link,
                   std::uint64_t bytes,
                   std::uint64_t rounds,
                   const IpcBuffers& buffers) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
        if (const int failed = link.receive(i, buffers.in, bytes); failed != 0) return failed;
        if (!ipc_is_filled(buffers.in, bytes, ipc_byte(i, false))) return EBADMSG;
        ipc_fill(buffers.out, bytes, ipc_byte(i, true));
        if (const int failed = link.send(i, buffers.out, bytes); failed != 0) return failed;
    }
    return 0;
}

template <typename Link>
int run_ipc_end(Link& link,
                bool is_client,
                std::uint64_t bytes,
                std::uint64_t rounds,
                const IpcBuffers& buffers,
                std::uint64_t* times_ns) {
    return is_client ? run_ipc_client(link, bytes, rounds, buffers, times_ns)
                     : run_ipc_server(link, bytes, rounds, buffers);
}

}  // namespace acp::bench
