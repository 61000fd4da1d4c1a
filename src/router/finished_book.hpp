// SPDX-License-Identifier: BSD-3-Clause
// A cache of the commands of other nodes' processes that completed here lately. The bytes of a
// command in it are in place; a command that is not in it may have been replaced by a newer one.
// One thread.
// Tests: tests/unit/router/order_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace acp::router {

class FinishedBook {
public:
    static constexpr std::size_t places = 256;  // a power of two

    void note(std::uint32_t initiator, std::uint64_t token) noexcept {
        entries_[place_of(initiator, token)] = {token, initiator};
    }

    // Whether `count` commands, with the tokens token, token + 2, ..., are all in the book.
    [[nodiscard]] bool has_all(std::uint32_t initiator,
                               std::uint64_t token,
                               std::uint32_t count) const noexcept {
        for (std::uint32_t i = 0; i < count; ++i, token += 2) {
            const Entry& entry = entries_[place_of(initiator, token)];
            if (entry.token != token || entry.initiator != initiator) return false;
        }
        return true;
    }

private:
    struct Entry {
        std::uint64_t token = 1;  // odd: no command has it
        std::uint32_t initiator = 0;
    };

    // Commands of one initiator in a row get places in a row.
    [[nodiscard]] static std::size_t place_of(std::uint32_t initiator,
                                              std::uint64_t token) noexcept {
        return (token / 2 + std::uint64_t{initiator} * 37) % places;
    }

    std::array<Entry, places> entries_{};
};

}  // namespace acp::router
