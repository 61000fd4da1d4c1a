// SPDX-License-Identifier: BSD-3-Clause
// A free list of cells in pieces of secret memory. Pieces are kept until destruction.
#include "crypto/key_cells.hpp"

#include <new>
#include <utility>

namespace acp::crypto {

std::span<std::byte> KeyCells::take() noexcept {
    if (free_.empty() && !add_piece()) return {};
    std::byte* cell = free_.back();
    free_.pop_back();
    return {cell, cell_bytes_};
}

// Allocates another piece. Returns false, with nothing changed, if there is no memory.
bool KeyCells::add_piece() noexcept {
    try {
        auto piece = os::SecretMemory::allocate(cells_per_piece * cell_bytes_);
        if (!piece.is_ok()) return false;
        // Room for every cell, so that giving back never allocates.
        free_.reserve((pieces_.size() + 1) * cells_per_piece);
        pieces_.push_back(std::move(piece).value());
    } catch (const std::bad_alloc&) {
        return false;
    }
    std::byte* start = pieces_.back().bytes().data();
    for (std::size_t i = cells_per_piece; i > 0; --i) {
        free_.push_back(start + (i - 1) * cell_bytes_);
    }
    return true;
}

void KeyCells::give_back(std::span<std::byte> cell) noexcept {
    os::wipe(cell);
    free_.push_back(cell.data());
}

}  // namespace acp::crypto
