// SPDX-License-Identifier: BSD-3-Clause
// Unlinks a block and frees it, so that a participant that is killed in between leaves nothing: it says before which block that is, and
// signs it, in a word of the block that nobody needs any more. Who recovers the participant frees the block if none of the participant's
// words leads to it, it is allocated, and it still bears the signature. Whoever allocates a block wipes that out before it keeps the
// block (NodeHeap::wipe), so a block that was freed and has become somebody else's is left alone.
// Any thread. Tests: the kill tests of tests/unit/table, list and sequence.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/blocks.hpp"

namespace acp::table {

// The word of a block that is signed: one that recovery does not read while the block is linked.
enum class Spare : std::uint64_t { first_word, second_word };

inline constexpr std::uint64_t signed_bytes = 16;  // of a block: those words

namespace freeing {
[[nodiscard]] constexpr std::uint64_t of(BlockNumber block, Spare spare) noexcept {
    return block << 1 | static_cast<std::uint64_t>(spare);
}

[[nodiscard]] constexpr BlockNumber block_in(std::uint64_t word) noexcept {
    return word >> 1;
}

// Its lowest bits are those of a node that is in no list (list::mark::claimed), for who still reads its mark.
[[nodiscard]] constexpr std::uint64_t signature(std::uint64_t word,
                                                std::uint32_t participant) noexcept {
    constexpr std::uint64_t freed_mark = 0xf4ee1b10c6d00ed7;
    return (freed_mark ^ word << 2 ^ std::uint64_t{participant + 1} << 44) | 3;
}
}  // namespace freeing

template <template <class> class Atomic>
[[nodiscard]] Atomic<std::uint64_t>& spare_word(const Blocks<Atomic>& blocks,
                                                std::uint64_t word) noexcept {
    auto* const first = reinterpret_cast<Atomic<std::uint64_t>*>(
        blocks.base() + offset_of(freeing::block_in(word)));
    return first[word & 1];
}

//   shown     the caller's word for this
//   unlink()  makes the last of the participant's words that leads to the block lead elsewhere
template <template <class> class Atomic, typename Unlink>
void unlink_and_free(Blocks<Atomic>& blocks,
                     Atomic<std::uint64_t>& shown,
                     std::uint32_t participant,
                     BlockNumber block,
                     Spare spare,
                     const Unlink& unlink) {
    const std::uint64_t word = freeing::of(block, spare);
    blocks.note_signed(block);
    spare_word(blocks, word)
        .store(freeing::signature(word, participant), std::memory_order_relaxed);
    // release: the signature; partner: finish_freeing()
    shown.store(word, std::memory_order_release);
    unlink();
    blocks.free(block);
}

// Whether a participant was killed while it recovered another one, which nobody has taken over yet: the words of that one may lead to
// what it was about to free.
template <typename Participants>
[[nodiscard]] bool is_recovering(const Participants& participants, std::uint32_t dead) noexcept {
    for (std::uint32_t i = 0; i < participants.count; ++i) {
        if (participants[i].recoverer.load(std::memory_order_acquire) == dead + 1) return true;
    }
    return false;
}

// Does for a dead participant what it did not, again if somebody was killed doing it. false: those that it was recovering come first.
//   shown            the dead participant's word
//   is_known(block)  whether another of its words leads to the block, so that it is freed as what that one names
template <template <class> class Atomic, typename Participants, typename IsKnown>
[[nodiscard]] bool finish_freeing(Blocks<Atomic>& blocks,
                                  const Participants& participants,
                                  std::uint32_t dead,
                                  const IsKnown& is_known) {
    auto& shown = participants[dead].freeing;
    const std::uint64_t word = shown.load(std::memory_order_acquire);
    const BlockNumber block = freeing::block_in(word);
    if (block == 0) return true;
    if (!is_known(block) && !blocks.is_lent(block)) {
        if (is_recovering(participants, dead)) return false;
        // In this order: who allocated the block since has it pending while the signature may still be there.
        if (blocks.is_kept(block) && spare_word(blocks, word).load(std::memory_order_acquire) ==
                                         freeing::signature(word, dead)) {
            blocks.free(block);
        }
    }
    shown.store(0, std::memory_order_release);
    return true;
}

}  // namespace acp::table
