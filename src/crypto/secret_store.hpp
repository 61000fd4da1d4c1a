// SPDX-License-Identifier: BSD-3-Clause
// Secret memory in pieces of any size: small ones share pages, large ones have their own. Knows nothing of what is
// kept in them. One thread. Tests: tests/unit/crypto/secret_store_test.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crypto/key_cells.hpp"
#include "os/secret_memory.hpp"

namespace acp::crypto {

class SecretStore {
public:
    static constexpr std::size_t cell_bytes = 64;  // pieces up to this share pages

    // Zeroed, aligned to 64 bytes; empty when no memory is left. Valid until given back.
    [[nodiscard]] std::span<std::byte> take(std::size_t bytes) noexcept;

    // Wipes it.   memory: from take()
    void give_back(std::span<std::byte> memory) noexcept;

private:
    KeyCells cells_{cell_bytes};
    std::vector<os::SecretMemory> large_;
};

}  // namespace acp::crypto
