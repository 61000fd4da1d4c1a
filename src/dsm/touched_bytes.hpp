// SPDX-License-Identifier: BSD-3-Clause
// The byte of each page that a rank touched first since the last barrier (ACP_DSM_CHECK=reads). The fault
// of that touch has its address, so the touch is certain; later ones of the page raise no fault and stay
// unknown. A fence of any rank of the node ends all touches before it: a flag may have ordered them
// before the writes of other nodes. Knows no fault and no protocol. Memory of the rank.
// Threads: note() by any, in signal handlers; take() while no thread of the rank touches pages.
// Tests: tests/unit/dsm/touched_bytes_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "dsm/window.hpp"

#include "pages/page.hpp"

namespace acp::dsm {

class TouchedBytes {
public:
    //   fences  the number of fences of the node; outlives this
    TouchedBytes(std::uint64_t pages, const std::atomic<std::uint64_t>& fences)
        : fences_(fences), first_(pages) {}

    // A thread is about to touch a byte of the window.
    void note(std::uint64_t byte) noexcept {
        std::uint64_t none = 0;
        // relaxed, as all here: the barrier orders the handler before take()
        const std::uint64_t fences = fences_.load(std::memory_order_relaxed);
        (void)first_[byte / pages::page_bytes].compare_exchange_strong(
            none, fences << byte_bits | (byte % pages::page_bytes + 1), std::memory_order_relaxed,
            std::memory_order_relaxed);
    }

    // Calls visit(page, byte of the page) for each touch that no fence has followed, and forgets all.
    template <typename Visit>
    void take(const Visit& visit) {
        const std::uint64_t fences = fences_.load(std::memory_order_relaxed);
        for (pages::PageNumber page = 0; page < first_.size(); ++page) {
            const std::uint64_t seen = first_[page].load(std::memory_order_relaxed);
            if (seen == 0) continue;
            first_[page].store(0, std::memory_order_relaxed);
            if (seen >> byte_bits == fences)
                visit(page, static_cast<std::uint32_t>((seen & byte_mask) - 1));
        }
    }

private:
    static constexpr std::uint32_t byte_bits = 13;
    static constexpr std::uint64_t byte_mask = (std::uint64_t{1} << byte_bits) - 1;

    const std::atomic<std::uint64_t>& fences_;
    std::vector<std::atomic<std::uint64_t>> first_;  // byte + 1, and the fences before it; 0: none
};

}  // namespace acp::dsm
