// SPDX-License-Identifier: BSD-3-Clause
// What kind of packet a datagram on the simulated wire is, as anybody sees who hears it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "datagram/wire.hpp"

namespace acp::sim {

// A datagram shorter than the type's place has type 0, which is none.
[[nodiscard]] inline datagram::PacketType type_of(std::span<const std::byte> bytes) noexcept {
    return static_cast<datagram::PacketType>(
        bytes.size() < 2 ? 0 : std::to_integer<std::uint8_t>(bytes[1]));
}

}  // namespace acp::sim
