// SPDX-License-Identifier: BSD-3-Clause
// Unlinks a block and frees it, so that a participant killed in between leaks nothing. Before, it
// publishes the block's number in its word `freeing`, and signs the block in a word that is not
// needed any longer. Recovery frees the block if no other word of the dead participant leads to it,
// the block is allocated, and it still bears the signature. Allocation wipes the signature before
// the block is kept (NodeHeap::wipe), so recovery leaves a block alone that was freed and allocated
// again. Any thread. Tests: the kill tests of tests/unit/table, list and sequence.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/blocks.hpp"

namespace acp::table {

// The word of a block that gets the signature: one that recovery does not read while the block is
// linked.
enum class Spare : std::uint64_t { first_word, second_word };

// bytes of a block that a signature may overwrite: those two words
inline constexpr std::uint64_t signed_bytes = 16;

namespace freeing {
[[nodiscard]] constexpr std::uint64_t of(BlockNumber block, Spare spare) noexcept {
    return block << 1 | static_cast<std::uint64_t>(spare);
}

[[nodiscard]] constexpr BlockNumber block_in(std::uint64_t word) noexcept {
    return word >> 1;
}

// The lowest bits are those of a node in no list (list::mark::claimed), for threads that still read
// its mark.
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

//   shown     the caller's word `freeing`
//   unlink()  changes the last of the participant's words that leads to the block
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

// Claims the recovery of a dead participant, until the caller stores 0. false: another participant
// that is not dead recovers it.
//   recoverer  the dead participant's word
//   own        the caller's number
template <template <class> class Atomic, typename IsDead>
[[nodiscard]] bool claim_recovery(Atomic<std::uint64_t>& recoverer,
                                  std::uint32_t own,
                                  const IsDead& is_dead) {
    std::uint64_t before = recoverer.load(std::memory_order_acquire);
    if (before != 0 && !is_dead(static_cast<std::uint32_t>(before - 1))) return false;
    // acq_rel: what an earlier recoverer, which is dead, has written
    return recoverer.compare_exchange_strong(before, own + 1, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
}

// Whether a dead participant had begun to recover another one, and no survivor has taken that over
// yet: that one's words may lead to the block that the dead participant was about to free.
template <typename Participants>
[[nodiscard]] bool is_recovering(const Participants& participants, std::uint32_t dead) noexcept {
    for (std::uint32_t i = 0; i < participants.count; ++i) {
        if (participants[i].recoverer.load(std::memory_order_acquire) == dead + 1) return true;
    }
    return false;
}

// Completes an unlink_and_free() of a dead participant; may be repeated if the recovering process
// is killed too. false: the participants that the dead one was recovering come first.
//   shown            the dead participant's word
//   is_known(block)  whether another of its words leads to the block, so that recovery of that word
//                    frees it
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
        // In this order: while the signature may still be there, a thread that has allocated the
        // block since has it pending, not kept.
        if (blocks.is_kept(block) && spare_word(blocks, word).load(std::memory_order_acquire) ==
                                         freeing::signature(word, dead)) {
            blocks.free(block);
        }
    }
    shown.store(0, std::memory_order_release);
    return true;
}

}  // namespace acp::table
