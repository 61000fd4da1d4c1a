// SPDX-License-Identifier: BSD-3-Clause
// A free list over pieces of secret memory, which are kept until the end.
#include "crypto/key_cells.hpp"

#include <utility>

namespace acp::crypto {

std::span<std::byte> KeyCells::take() {
    if (free_.empty()) {
        auto piece = os::SecretMemory::allocate(cells_per_piece * cell_bytes_);
        if (!piece.is_ok()) return {};
        pieces_.push_back(std::move(piece).value());
        // Room for every cell there is: giving back allocates nothing.
        free_.reserve(pieces_.size() * cells_per_piece);
        std::byte* start = pieces_.back().bytes().data();
        for (std::size_t i = cells_per_piece; i > 0; --i) {
            free_.push_back(start + (i - 1) * cell_bytes_);
        }
    }
    std::byte* cell = free_.back();
    free_.pop_back();
    return {cell, cell_bytes_};
}

void KeyCells::give_back(std::span<std::byte> cell) noexcept {
    os::wipe(cell);
    free_.push_back(cell.data());
}

}  // namespace acp::crypto
