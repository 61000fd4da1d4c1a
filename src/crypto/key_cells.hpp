// SPDX-License-Identifier: BSD-3-Clause
// Many small keys in few pieces of secret memory: cells of one size, taken and given back. Knows nothing of what
// is kept in them. One thread. Tests: tests/unit/crypto/choose_test.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "os/secret_memory.hpp"

namespace acp::crypto {

class KeyCells {
public:
    static constexpr std::size_t cells_per_piece = 32;

    //   cell_bytes  a multiple of 64
    explicit KeyCells(std::size_t cell_bytes) noexcept : cell_bytes_(cell_bytes) {}

    // Zeroed, aligned to 64 bytes; empty when no memory is left. Valid until given back, at most as long as
    // this object lives.
    [[nodiscard]] std::span<std::byte> take() noexcept;

    // Wipes it.   cell: from take()
    void give_back(std::span<std::byte> cell) noexcept;

private:
    [[nodiscard]] bool add_piece() noexcept;

    std::size_t cell_bytes_;
    std::vector<os::SecretMemory> pieces_;
    std::vector<std::byte*> free_;
};

}  // namespace acp::crypto
