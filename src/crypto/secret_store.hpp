// SPDX-License-Identifier: BSD-3-Clause
// Allocates secret memory of any size: small pieces share pages, large ones have pages of their
// own. Does not know what they hold. One thread. Tests: tests/unit/crypto/secret_store_test.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crypto/key_cells.hpp"
#include "os/secret_memory.hpp"

namespace acp::crypto {

class SecretStore {
public:
    static constexpr std::size_t cell_bytes = 64;  // pieces up to this size share pages

    // Takes memory, zeroed and aligned to 64 bytes; empty if there is none. Valid until given back.
    [[nodiscard]] std::span<std::byte> take(std::size_t bytes) noexcept;

    // Wipes and frees memory.
    //   memory  from take()
    void give_back(std::span<std::byte> memory) noexcept;

private:
    KeyCells cells_{cell_bytes};
    std::vector<os::SecretMemory> large_;
};

}  // namespace acp::crypto
