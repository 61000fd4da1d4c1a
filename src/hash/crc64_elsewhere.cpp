// SPDX-License-Identifier: BSD-3-Clause
// Architectures whose carry-less multiplication is not used: the tables do all.
#include "hash/crc64_ways.hpp"

namespace acp::hash {

bool has_crc64_by_multiplication() noexcept {
    return false;
}

std::uint64_t crc64_by_multiplication(std::span<const std::byte> bytes) noexcept {
    return crc64_by_tables(bytes);
}

}  // namespace acp::hash
