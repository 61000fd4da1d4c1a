// SPDX-License-Identifier: BSD-3-Clause
// A thread's view of the memory of a heap's sequences, and a consistent read of the committed
// content of one of them. The lowest layer of the operations.
// Tests: tests/unit/sequence.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "heap/offset.hpp"

#include "sequence/bytes.hpp"
#include "sequence/layout.hpp"
#include "table/blocks.hpp"
#include "table/freeing.hpp"

namespace acp::sequence {

// A thread's reads of a sequence. They may be inconsistent until is_current(), or a
// compare-and-swap of the operation word, has shown that they are of one moment.
struct ContentView {
    std::uint64_t operation_word = 0;
    std::uint64_t body_word = 0;
    OperationWord operation;
    Named body;
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;  // length of the content
    std::uint64_t capacity = 0;
};

template <template <class> class Atomic>
class SequenceGround {
public:
    //   blocks, others  of this thread; outlive this
    //   participants    of the heap; only this thread uses number `own`
    SequenceGround(table::Blocks<Atomic>& blocks,
                   Others& others,
                   SequenceUsers<Atomic> participants,
                   std::uint32_t own) noexcept
        : blocks_(blocks), others_(others), participants_(participants), own_(own) {}

    SequenceGround(const SequenceGround&) = delete;
    SequenceGround& operator=(const SequenceGround&) = delete;
    ~SequenceGround() = default;

    [[nodiscard]] table::Blocks<Atomic>& blocks() const noexcept { return blocks_; }

    [[nodiscard]] Others& others() const noexcept { return others_; }

    [[nodiscard]] const SequenceUsers<Atomic>& participants() const noexcept {
        return participants_;
    }

    [[nodiscard]] std::uint32_t own() const noexcept { return own_; }

    [[nodiscard]] SequenceUser<Atomic>& shown() const noexcept { return participants_[own_]; }

    [[nodiscard]] char* address(BlockNumber block) const noexcept {
        return blocks_.base() + table::offset_of(block);
    }

    [[nodiscard]] SequenceHead<Atomic>& head(BlockNumber block) const noexcept {
        return *reinterpret_cast<SequenceHead<Atomic>*>(address(block));
    }

    [[nodiscard]] Body<Atomic>& body(BlockNumber block) const noexcept {
        return *reinterpret_cast<Body<Atomic>*>(address(block));
    }

    // See table/freeing.hpp.
    template <typename Unlink>
    void unlink_and_free(BlockNumber block, const Unlink& unlink) const {
        table::unlink_and_free(blocks_, shown().freeing, own_, block, table::Spare::second_word,
                               unlink);
    }

    // Frees a sequence that no other thread uses; repeated by recovery if the process is killed in
    // it.
    //   unlink()  changes the last word that leads to its head
    template <typename Unlink>
    void free_with_body(BlockNumber number, const Unlink& unlink) const {
        auto& word = head(number).body;
        const Named named = Named::unpacked(word.load(std::memory_order_acquire));
        if (has_body(named.block)) {
            unlink_and_free(named.block, [&] { word.store(0, std::memory_order_release); });
        }
        unlink_and_free(number, unlink);
    }

    [[nodiscard]] bool has_body(BlockNumber block) const noexcept {
        return blocks_.has_block(block, Body<Atomic>::head_bytes);
    }

    // Whether a view of one moment can be that of a sequence that only this library has written to.
    [[nodiscard]] bool is_possible(const ContentView& view) const noexcept {
        return view.operation.participant < participants_.count && view.bytes <= view.capacity &&
               view.first <= view.capacity && view.capacity <= blocks_.limit_bytes() &&
               blocks_.has_block(view.body.block, Body<Atomic>::block_bytes(view.capacity));
    }

    // Makes bytes of a body zero, whole pages without touching them.
    void clear(BlockNumber body_block, std::uint64_t at, std::uint64_t bytes) const {
        char* const first = body(body_block).content() + at;
        const std::uint64_t odd =
            std::min((heap::granule_bytes - at % heap::granule_bytes) % heap::granule_bytes, bytes);
        std::memset(first, 0, odd);
        if (odd == bytes) return;
        const std::uint64_t begin =
            table::offset_of(body_block) + Body<Atomic>::head_bytes + at + odd;
        blocks_.clear(table::number_of(begin), bytes - odd);
    }

    // The content of a view.
    [[nodiscard]] BodyRing ring(const ContentView& view) const noexcept {
        return {body(view.body.block).content(), view.capacity, view.first};
    }

    // Reads the committed state. A replaced body may have been freed and hold anything, which
    // is_current() detects later.
    //   false: the body in use is not the operation word's, or lies outside of the heap
    [[nodiscard]] bool read(SequenceHead<Atomic>& head, ContentView& view) const noexcept {
        // acquire: partner is every compare-and-swap of the word; its committed writes are seen
        view.operation_word = head.operation.load(std::memory_order_acquire);
        view.operation = OperationWord::unpacked(view.operation_word);
        // acquire: the writes of the body's maker before it was installed
        view.body_word = head.body.load(std::memory_order_acquire);
        view.body = Named::unpacked(view.body_word);
        if (view.body.generation() != view.operation.generation || !has_body(view.body.block))
            return false;
        auto& in_use = body(view.body.block);
        auto& extent = in_use.extents[view.operation.which];
        view.capacity = in_use.capacity.load(std::memory_order_relaxed);
        view.first = extent.first.load(std::memory_order_relaxed);
        view.bytes = extent.bytes.load(std::memory_order_relaxed);
        return true;
    }

    // Whether a view, and the content read since, are of one moment: the content has not changed.
    [[nodiscard]] bool is_current(SequenceHead<Atomic>& head,
                                  const ContentView& view) const noexcept {
        // fetch_add(0): a read-modify-write, so it is ordered with every writer's read-modify-write
        // of this word. acq_rel: the bytes read before it were not written after a change of the
        // word that it does not see.
        const std::uint64_t word = head.operation.fetch_add(0, std::memory_order_acq_rel);
        return OperationWord::unpacked(word).sequence == view.operation.sequence;
    }

private:
    table::Blocks<Atomic>& blocks_;
    Others& others_;
    SequenceUsers<Atomic> participants_;
    std::uint32_t own_;
};

}  // namespace acp::sequence
