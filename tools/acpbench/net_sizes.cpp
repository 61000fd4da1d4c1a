// SPDX-License-Identifier: BSD-3-Clause
// Puts of every size. Rank 0's main thread.
#include "net_sizes.hpp"

#include <algorithm>

#include "copy.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t sizes[] = {8, 64, 512, 4096, 32768, 262144, 1048576};
constexpr std::uint64_t streamed_bytes_max = 4096;  // a few longer puts in flight fill the path
constexpr std::uint64_t stream_bytes_per_round = 4 << 20;
constexpr std::uint64_t stream_operations_max = 4096;

}  // namespace

std::vector<std::uint64_t> net_sizes(std::uint64_t bytes_max) {
    std::vector<std::uint64_t> result(std::begin(sizes), std::end(sizes));
    std::erase_if(result, [=](std::uint64_t bytes) { return bytes > bytes_max; });
    return result;
}

Row put_of_size(NetRounds& rounds, acp_ga_t target, acp_ga_t source, std::uint64_t bytes) {
    return rounds.beside_transfers(
        rounds.new_row("net-sizes", "put", bytes),
        [=](std::uint64_t count) { copy_and_complete(target, source, bytes, count); });
}

Row stream_of_size(NetRounds& rounds, acp_ga_t target, acp_ga_t source, std::uint64_t bytes) {
    const std::uint64_t operations = std::clamp<std::uint64_t>(
        stream_bytes_per_round / bytes, copies_under_way, stream_operations_max);
    return rounds.beside_stream(
        rounds.new_row("net-sizes", "stream of puts", bytes),
        [=](std::uint64_t count) {
            (bytes <= streamed_bytes_max ? copy_streamed : copy_deep)(target, source, bytes, count);
        },
        operations);
}

}  // namespace acp::bench
