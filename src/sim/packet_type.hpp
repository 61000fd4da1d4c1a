// SPDX-License-Identifier: BSD-3-Clause
// The packet type of a datagram on the simulated wire: a byte of the outer header, which is not
// encrypted. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "datagram/wire.hpp"

namespace acp::sim {

// Returns the type; 0, which is none, if the datagram is too short to have one.
[[nodiscard]] inline datagram::PacketType type_of(std::span<const std::byte> bytes) noexcept {
    return static_cast<datagram::PacketType>(
        bytes.size() < 2 ? 0 : std::to_integer<std::uint8_t>(bytes[1]));
}

}  // namespace acp::sim
