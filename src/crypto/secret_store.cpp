// SPDX-License-Identifier: BSD-3-Clause
// Small requests take cells; large ones, of which there are few, have a mapping each.
#include "crypto/secret_store.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace acp::crypto {

std::span<std::byte> SecretStore::take(std::size_t bytes) noexcept {
    if (bytes <= cell_bytes) {
        const std::span<std::byte> cell = cells_.take();
        return cell.empty() ? cell : cell.first(bytes);
    }
    try {
        auto memory = os::SecretMemory::allocate(bytes);
        if (!memory.is_ok()) return {};
        large_.push_back(std::move(memory).value());
    } catch (const std::bad_alloc&) {
        return {};
    }
    return large_.back().bytes();
}

void SecretStore::give_back(std::span<std::byte> memory) noexcept {
    if (memory.size() <= cell_bytes) {
        cells_.give_back({memory.data(), cell_bytes});
        return;
    }
    const auto found = std::find_if(large_.begin(), large_.end(), [&](os::SecretMemory& one) {
        return one.bytes().data() == memory.data();
    });
    ACP_ASSERT(found != large_.end());
    std::swap(*found, large_.back());
    large_.pop_back();
}

}  // namespace acp::crypto
