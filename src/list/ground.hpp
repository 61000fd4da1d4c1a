// SPDX-License-Identifier: BSD-3-Clause
// A thread's view of the memory of a heap's lists. The lowest layer of the operations.
// Tests: tests/unit/list.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/size_classes.hpp"

#include "list/layout.hpp"
#include "table/blocks.hpp"
#include "table/freeing.hpp"

namespace acp::list {

// The interface of a list to its heap, as table::Blocks, and to the heaps of separate payload
// blocks. Each thread has its own object.
template <template <class> class Atomic>
class ListMemory : public table::Blocks<Atomic> {
public:
    // Frees the separate payload block of an element. false: this process cannot free it, and the
    // caller must have it freed.
    virtual bool free_apart(std::uint64_t address) = 0;

    // The first word of such a block; nullptr: this process cannot free it.
    [[nodiscard]] virtual Atomic<std::uint64_t>* apart_word(std::uint64_t address) = 0;

    // Does what is_kept() does, for such a block that this process can free.
    [[nodiscard]] virtual bool is_apart_kept(std::uint64_t address) = 0;

protected:
    ListMemory(char* base, std::uint64_t limit_bytes) noexcept
        : table::Blocks<Atomic>(base, limit_bytes) {}
};

template <template <class> class Atomic>
class ListGround {
public:
    using Word = Atomic<std::uint64_t>;

    //   blocks        of this thread; outlives this
    //   participants  of the heap; only this thread uses number `own`
    ListGround(ListMemory<Atomic>& blocks,
               ListParticipants<Atomic> participants,
               std::uint32_t own) noexcept
        : blocks_(blocks),
          participants_(participants),
          own_(own),
          shown_(participants[own]),
          base_(blocks.base()) {}

    ListGround(const ListGround&) = delete;
    ListGround& operator=(const ListGround&) = delete;
    ~ListGround() = default;

    [[nodiscard]] ListMemory<Atomic>& blocks() const noexcept { return blocks_; }

    [[nodiscard]] const ListParticipants<Atomic>& participants() const noexcept {
        return participants_;
    }

    [[nodiscard]] std::uint32_t own() const noexcept { return own_; }

    [[nodiscard]] ListParticipant<Atomic>& shown() const noexcept { return shown_; }

    // Whether a block of this number and length lies within the heap. Every number that was
    // read from shared memory or passed by a caller is checked by this before its block is
    // accessed.
    [[nodiscard]] bool has_block(BlockNumber block, std::uint64_t bytes) const noexcept {
        return blocks_.has_block(block, bytes);
    }

    [[nodiscard]] bool has_node(BlockNumber block) const noexcept {
        return has_block(block, ListNode<Atomic>::head_bytes);
    }

    // Whether a node lies in the heap with its element's bytes, whose number its mark states.
    [[nodiscard]] bool has_element(BlockNumber block, std::uint64_t mark) const noexcept {
        return has_block(block, ListNode<Atomic>::head_bytes + mark::bytes_in(mark));
    }

    [[nodiscard]] bool has_head(BlockNumber block) const noexcept {
        return has_block(block, sizeof(ListHead<Atomic>));
    }

    [[nodiscard]] bool has_place(std::uint64_t place) const noexcept {
        return has_block(place::block_in(place), (place::field_in(place) + 1) * sizeof(Word));
    }

    [[nodiscard]] ListNode<Atomic>& node(BlockNumber block) const noexcept {
        return *reinterpret_cast<ListNode<Atomic>*>(base_ + offset_of(block));
    }

    [[nodiscard]] ListHead<Atomic>& head(BlockNumber list) const noexcept {
        return *reinterpret_cast<ListHead<Atomic>*>(base_ + offset_of(list));
    }

    // See table/retired_blocks.hpp.
    static constexpr table::Spare spare_of_retired = table::Spare::first_word;

    // Nodes and heads are claimed before they are retired.
    [[nodiscard]] bool may_be_retired(BlockNumber block) const noexcept {
        return has_node(block) &&
               mark::kind_of(node(block).mark.load(std::memory_order_relaxed)) == mark::claimed;
    }

    // Calls note(block) for each block that a participant names while it carries out an operation,
    // or has made and not linked yet; also note(0). A thread that only reads a node names nothing:
    // it checks the mark afterwards. acquire: partner is Turns::run(); the thread that retired a
    // block changed the list's turn after the other threads had published their names.
    template <typename Note>
    void for_each_named(const Note& note) const {
        for (std::uint32_t i = 0; i < participants_.count; ++i) {
            const auto& other = participants_[i];
            note(table::made::block_in(other.made.load(std::memory_order_acquire)));
            if (other.names.load(std::memory_order_acquire) == 0) continue;
            for (const auto& list : other.lists) note(list.load(std::memory_order_acquire));
            for (const auto& change : other.changes) {
                note(place::block_in(change.place.load(std::memory_order_acquire)));
            }
        }
    }

    // See table/freeing.hpp.   spare  first_word: the mark, second_word: the link to the next node
    template <typename Unlink>
    void unlink_and_free(BlockNumber block, table::Spare spare, const Unlink& unlink) const {
        table::unlink_and_free<Atomic>(blocks_, shown_.freeing, own_, block, spare, unlink);
    }

    // Does so with a separate payload block. false: this process cannot free it, and unlink() was
    // not called.
    template <typename Unlink>
    bool unlink_and_free_apart(std::uint64_t address, const Unlink& unlink) const {
        Word* const first = blocks_.apart_word(address);
        if (first == nullptr) return false;
        first->store(table::freeing::signature(address, own_), std::memory_order_relaxed);
        // release: the signature; partner: finish_freeing_apart()
        shown_.freeing_apart.store(address, std::memory_order_release);
        unlink();
        return blocks_.free_apart(address);
    }

    //   is_known(address)  whether another word of the dead participant leads to the block
    template <typename IsKnown>
    [[nodiscard]] bool finish_freeing_apart(std::uint32_t dead, const IsKnown& is_known) const {
        auto& shown = participants_[dead].freeing_apart;
        const std::uint64_t address = shown.load(std::memory_order_acquire);
        if (address == 0) return true;
        Word* const first = blocks_.apart_word(address);
        if (first != nullptr && !is_known(address)) {
            if (table::is_recovering(participants_, dead)) return false;
            // In the order that table/freeing.hpp explains.
            if (blocks_.is_apart_kept(address) && first->load(std::memory_order_acquire) ==
                                                      table::freeing::signature(address, dead)) {
                (void)blocks_.free_apart(address);
            }
        }
        shown.store(0, std::memory_order_release);
        return true;
    }

    [[nodiscard]] Word& word(BlockNumber block, Field field) const noexcept {
        return word_at(place::of(block, field));
    }

    [[nodiscard]] Word& word_at(std::uint64_t place) const noexcept {
        char* const start = base_ + offset_of(place::block_in(place));
        return reinterpret_cast<Word*>(start)[place::field_in(place)];
    }

private:
    ListMemory<Atomic>& blocks_;
    ListParticipants<Atomic> participants_;
    std::uint32_t own_;
    ListParticipant<Atomic>& shown_;
    char* base_;
};

}  // namespace acp::list
