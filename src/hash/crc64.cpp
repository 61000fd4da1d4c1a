// SPDX-License-Identifier: BSD-3-Clause
// Chooses the way once, by what the processor can do. No length stands between the two:
// multiplication is the faster one from 9 bytes on; below, tables gain a nanosecond while they are
// in the cache, which has better use for 16 KiB.
#include "hash/crc64.hpp"

#include "hash/crc64_ways.hpp"

namespace acp::hash {

namespace {

// Not yet known to a call that comes before it is initialised: then tables do it.
const bool has_multiplication = has_crc64_by_multiplication();

}  // namespace

std::uint64_t crc64(std::span<const std::byte> bytes) noexcept {
    return has_multiplication ? crc64_by_multiplication(bytes) : crc64_by_tables(bytes);
}

}  // namespace acp::hash
