// SPDX-License-Identifier: BSD-3-Clause
// Stores many small keys in few pieces of secret memory: cells of one size, taken and given back.
// Does not know what they hold. One thread. Tests: tests/unit/crypto/choose_test.cpp.
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

    // Takes a cell, zeroed and aligned to 64 bytes; empty if there is no memory. It is valid until
    // given back, and no longer than this object lives.
    [[nodiscard]] std::span<std::byte> take() noexcept;

    // Wipes a cell and puts it on the free list.
    //   cell  from take()
    void give_back(std::span<std::byte> cell) noexcept;

private:
    [[nodiscard]] bool add_piece() noexcept;

    std::size_t cell_bytes_;
    std::vector<os::SecretMemory> pieces_;
    std::vector<std::byte*> free_;  // capacity for all cells, see add_piece()
};

}  // namespace acp::crypto
