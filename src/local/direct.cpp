// SPDX-License-Identifier: BSD-3-Clause
// Atomics whose operation is known only at run time.
#include "local/direct.hpp"

namespace acp::local {

std::uint64_t apply(const memory::Command& command, char* place) noexcept {
    if (command.width == 4) {
        return apply<std::uint32_t>(command.operation, place,
                                    static_cast<std::uint32_t>(command.operand),
                                    static_cast<std::uint32_t>(command.expected));
    }
    return apply<std::uint64_t>(command.operation, place, command.operand, command.expected);
}

void store_old(char* place, std::uint64_t old, std::uint8_t width) noexcept {
    if (width == 4) {
        store_old<std::uint32_t>(place, static_cast<std::uint32_t>(old));
    } else {
        store_old<std::uint64_t>(place, old);
    }
}

}  // namespace acp::local
