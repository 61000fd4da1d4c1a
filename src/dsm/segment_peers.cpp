// SPDX-License-Identifier: BSD-3-Clause
// A wait for a page word is a wait for a word of memory, which ends when a rank dies.
#include "dsm/segment_peers.hpp"

#include "node/death.hpp"
#include "node/word_sleepers.hpp"

namespace acp::dsm {

bool SegmentPeers::is_dead(pages::SlotNumber slot) noexcept {
    return node::is_dead(segment_, slot);
}

void SegmentPeers::wait_while(const Word& word, std::uint64_t seen) noexcept {
    // Any result: the caller tests the word, and whether its holder has died.
    (void)waits_.wait({&word, sizeof seen, node::WordComparison::not_equal, seen}, -1);
}

// Without a call of a library: a handler of a signal asks.
std::uint64_t SegmentPeers::own_thread() noexcept {
    static thread_local char here __attribute__((tls_model("initial-exec")));
    return reinterpret_cast<std::uintptr_t>(&here);
}

void SegmentPeers::wake(const Word& /*word*/) noexcept {
    for (std::uint32_t slot = 0; slot < segment_.shape().local_procs; ++slot) {
        node::ring_word_sleepers(segment_, slot);
    }
}

}  // namespace acp::dsm
