// SPDX-License-Identifier: BSD-3-Clause
// The other ranks of the node, as a role for the flusher and the fetcher: whether one has ended, and
// how a thread sleeps until another one has moved the bytes of a page. Tests step the ranks of several
// nodes in one process by it. Any thread, and signal handlers.
// Tests: tests/unit/dsm/fetcher_test.cpp.
#pragma once

#include <cstdint>

#include "pages/page_word.hpp"

namespace acp::dsm {

class NodePeers {
public:
    virtual ~NodePeers() = default;

    using Word = pages::PageWords<>::Word;

    [[nodiscard]] virtual bool is_dead(pages::SlotNumber slot) noexcept = 0;

    // Sleeps while a page word has a value: until wake(), and in any case until the rank that holds
    // the page has ended. May return earlier.
    virtual void wait_while(const Word& word, std::uint64_t seen) noexcept = 0;

    // A number that no other living thread of the process has; not 0.
    [[nodiscard]] virtual std::uint64_t own_thread() noexcept = 0;

    // Wakes all threads that sleep on the word.
    virtual void wake(const Word& word) noexcept = 0;
};

}  // namespace acp::dsm
