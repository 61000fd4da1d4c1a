// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks stream copies of a mebibyte to rank 0, a few at a time, until the driver
// sets the board's end. Rank 0 takes no part, and compares the bytes at the end.
#include <array>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "nodes/stream_board.hpp"
#include "support/board.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::size_t copies_at_once = 4;

std::byte* starter_of_mine() {
    return static_cast<std::byte*>(acp_query_address(acp_query_starter_ga(acp_rank())));
}

// The bytes that a rank sends; they differ between ranks.
std::byte byte_of(int rank, std::size_t offset) {
    return static_cast<std::byte>(offset * 7 + offset / 4096 + static_cast<std::size_t>(rank));
}

// The offset of a rank's copy in the memory of rank 0.
std::size_t place_of(int rank, std::size_t copy) {
    return ((static_cast<std::size_t>(rank) - 1) * copies_at_once + copy) * stream_copy_bytes;
}

void send(StreamBoard& board) {
    const int rank = acp_rank();
    Stream& mine = board.streams[rank];
    mine.process.store(getpid(), std::memory_order_relaxed);
    std::byte* source = starter_of_mine();
    for (std::size_t offset = 0; offset < stream_copy_bytes; ++offset) {
        source[offset] = byte_of(rank, offset);
    }
    std::array<acp_handle_t, copies_at_once> handles{};
    const acp_ga_t from = acp_query_starter_ga(rank);
    const acp_ga_t to = acp_query_starter_ga(0);
    for (std::size_t turn = 0; board.may_end.load(std::memory_order_relaxed) == 0; ++turn) {
        const std::size_t copy = turn % copies_at_once;
        if (turn >= copies_at_once) {
            const bool is_good = acp_wait(handles[copy], -1) == ACP_OK;
            (is_good ? mine.bytes : mine.failures)
                .fetch_add(is_good ? stream_copy_bytes : 1, std::memory_order_relaxed);
        }
        handles[copy] =
            acp_copy(to + place_of(rank, copy), from, stream_copy_bytes, ACP_HANDLE_NULL);
    }
    if (acp_wait(ACP_HANDLE_ALL, -1) != ACP_OK) {
        mine.failures.fetch_add(1, std::memory_order_relaxed);
        std::fprintf(stderr, "rank %d: %s\n", rank, acp_error_message());
    }
}

void compare(StreamBoard& board) {
    const std::byte* seen = starter_of_mine();
    std::vector<std::byte> wanted(stream_copy_bytes);
    for (int rank = 1; rank < acp_procs(); ++rank) {
        for (std::size_t offset = 0; offset < wanted.size(); ++offset) {
            wanted[offset] = byte_of(rank, offset);
        }
        for (std::size_t copy = 0; copy < copies_at_once; ++copy) {
            if (std::memcmp(seen + place_of(rank, copy), wanted.data(), wanted.size()) != 0) {
                board.streams[rank].failures.fetch_add(1, std::memory_order_relaxed);
            }
        }
    }
}

}  // namespace
}  // namespace acp::test

int main() {
    acp::test::arm_watchdog(120, "a stream");
    const auto board = acp::test::Board<acp::test::StreamBoard>::open();
    if (acp_init(nullptr, nullptr) != 0 || acp_sync() != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 2;
    }
    if (acp_rank() != 0) {
        acp::test::send(*board);
    } else {
        board->streams[0].process.store(getpid(), std::memory_order_relaxed);
    }
    if (acp_sync() != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 2;
    }
    if (acp_rank() == 0) {
        acp::test::compare(*board);
    }
    return acp_finalize() == 0 ? 0 : 2;
}
