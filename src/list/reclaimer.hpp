// SPDX-License-Identifier: BSD-3-Clause
// Frees nodes and heads that were taken out of their lists, once no thread that carries out an
// operation names them (hazard pointers): so the late compare-and-swap of a helper never changes
// memory of a new owner. Until then they are in a list of the participant that claimed them. It is
// linked through their own words, so it has no limit and needs no memory.
// A thread that only reads a node names nothing: it checks the mark afterwards.
// Source: M. Michael, Hazard pointers, IEEE TPDS 15 (2004). Tests: tests/unit/list/kill_test.cpp,
// concurrency_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "list/ground.hpp"

namespace acp::list {

template <template <class> class Atomic>
class NodeReclaimer {
public:
    static constexpr std::uint32_t usual_batch = 128;
    // The most retired bytes before a scan.
    static constexpr std::uint64_t bytes_most = 256 << 10;

    //   batch  blocks that a participant retires between two scans
    explicit NodeReclaimer(const ListGround<Atomic>& ground,
                           std::uint32_t batch = usual_batch) noexcept
        : ground_(ground), batch_(batch) {}

    // Puts a block that a participant has claimed into its list of retired blocks; the caller knows
    // that it is not there. The participant is the calling thread's, or a dead one.
    void retire(std::uint32_t owner, BlockNumber block) const {
        auto& shown = ground_.participants()[owner];
        auto& node = ground_.node(block);
        const std::uint64_t bytes = ListNode<Atomic>::head_bytes +
                                    mark::bytes_in(node.mark.load(std::memory_order_relaxed));
        node.next.store(link::after(shown.retired.load(std::memory_order_relaxed)),
                        std::memory_order_release);
        shown.retired.store(block, std::memory_order_release);
        shown.taken.store(0, std::memory_order_release);
        shown.retired_count.store(shown.retired_count.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
        shown.retired_bytes.store(shown.retired_bytes.load(std::memory_order_relaxed) + bytes,
                                  std::memory_order_relaxed);
    }

    [[nodiscard]] bool is_due() const noexcept {
        const auto& own = ground_.shown();
        return own.retired_count.load(std::memory_order_relaxed) % batch_ == 0 ||
               own.retired_bytes.load(std::memory_order_relaxed) > bytes_most;
    }

    [[nodiscard]] bool is_listed(std::uint32_t owner, BlockNumber block) const noexcept {
        const auto& shown = ground_.participants()[owner];
        for (BlockNumber one = shown.retired.load(std::memory_order_acquire); one != 0;
             one = before(one)) {
            if (one == block) return true;
        }
        return false;
    }

    // Frees the blocks that a participant has retired and that no participant names; the
    // participant is the calling thread's, or a dead one. True if none is left. Where there is no
    // memory for the list of named blocks, a later scan frees them.
    bool scan(std::uint32_t owner) const noexcept {
        if (ground_.participants()[owner].retired.load(std::memory_order_acquire) == 0) return true;
        try {
            return free_all_but(owner, named_blocks());
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

private:
    [[nodiscard]] BlockNumber before(BlockNumber block) const noexcept {
        return link::node_in(ground_.node(block).next.load(std::memory_order_acquire));
    }

    // The blocks that participants name, sorted. Throws std::bad_alloc. acquire: partner is
    // Turns::run(); the thread that retired a block changed the list's turn after the other threads
    // had published their names.
    [[nodiscard]] std::vector<BlockNumber> named_blocks() const {
        std::vector<BlockNumber> named;
        const auto note = [&named](BlockNumber block) {
            if (block != 0) named.push_back(block);
        };
        for (std::uint32_t i = 0; i < ground_.participants().count; ++i) {
            const auto& other = ground_.participants()[i];
            note(table::made::block_in(other.made.load(std::memory_order_acquire)));
            if (other.names.load(std::memory_order_acquire) == 0) continue;
            for (const auto& list : other.lists) note(list.load(std::memory_order_acquire));
            for (const auto& change : other.changes) {
                note(place::block_in(change.place.load(std::memory_order_acquire)));
            }
        }
        std::sort(named.begin(), named.end());
        return named;
    }

    bool free_all_but(std::uint32_t owner, const std::vector<BlockNumber>& named) const {
        auto& shown = ground_.participants()[owner];
        BlockNumber kept = 0;  // the last block that stays in the list
        std::uint64_t count = 0;
        for (BlockNumber block = shown.retired.load(std::memory_order_acquire); block != 0;) {
            const BlockNumber next = before(block);
            if (std::binary_search(named.begin(), named.end(), block)) {
                kept = block;
                ++count;
            } else {
                auto& link_word = kept == 0 ? shown.retired : ground_.node(kept).next;
                ground_.unlink_and_free(block, table::Spare::first_word, [&] {
                    link_word.store(kept == 0 ? next : link::after(next),
                                    std::memory_order_release);
                });
            }
            block = next;
        }
        shown.retired_count.store(count, std::memory_order_relaxed);
        shown.retired_bytes.store(0, std::memory_order_relaxed);
        return count == 0;
    }

    const ListGround<Atomic>& ground_;
    std::uint32_t batch_;
};

}  // namespace acp::list
