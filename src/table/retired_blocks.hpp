// SPDX-License-Identifier: BSD-3-Clause
// Frees the blocks of tables and lists that were retired (taken out of use), once no participant
// names them in a hazard word (hazard pointers). A participant is a thread that has announced itself
// to the heap. Until they are freed, blocks are in a list of the participant that retired them. The list is
// linked through the blocks' own words, so it has no limit and takes no memory; survivors free the
// list of a dead participant where it is. No thread waits for a stopped one: only the blocks that the
// stopped one names, and those in its own list, stay allocated.
// Vectors and deques retire nothing: a reader copies and then checks that nothing was replaced, and
// memory that a stopped writer may still write into stays allocated while that writer lives
// (sequence/reservation.hpp).
// Source: M. Michael, Hazard pointers, IEEE TPDS 15 (2004). Tests: tests/unit/table and
// tests/unit/list, kill_test.cpp, concurrency_test.cpp and the tests of damage.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "table/circle_finder.hpp"
#include "table/freeing.hpp"

namespace acp::table {

//   View  a thread's view of the containers of one kind in a heap, Ground or list::ListGround:
//         for_each_named(note) calls note(block) for each block that a participant names in a hazard
//         word or is about to link, and with 0 for a word that names none;
//         may_be_retired(block) is false for a number that can be no retired block's: the program has
//         overwritten a link;
//         spare_of_retired says which of the first two words of a retired block keeps the mark of its
//         reuse; the other one links the list
template <template <class> class Atomic, typename View>
class RetiredBlocks {
public:
    // The most retired bytes before a scan; blocks that the last scan found named do not count.
    static constexpr std::uint64_t bytes_most = 256 << 10;

    //   view  outlives this
    explicit RetiredBlocks(const View& view) noexcept : view_(view) {}

    // The word of a block that links the list: the block that was retired before it, and bits of
    // the container.
    [[nodiscard]] Atomic<std::uint64_t>& link_of(BlockNumber block) const noexcept {
        constexpr std::uint64_t field = View::spare_of_retired == Spare::first_word ? 1 : 0;
        return reinterpret_cast<Atomic<std::uint64_t>*>(view_.blocks().base() +
                                                        offset_of(block))[field];
    }

    // The block that was retired most recently of those in a participant's list; 0 if it is empty.
    [[nodiscard]] BlockNumber last_of(std::uint32_t owner) const noexcept {
        return view_.participants()[owner].retired.load(std::memory_order_acquire);
    }

    // Adds a block, whose link the caller has set to last_of(owner).
    //   owner  the calling thread's participant, or a dead one
    void add(std::uint32_t owner, BlockNumber block, std::uint64_t bytes) const noexcept {
        auto& shown = view_.participants()[owner];
        shown.retired.store(block, std::memory_order_release);
        shown.retired_count.store(shown.retired_count.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
        shown.retired_bytes.store(shown.retired_bytes.load(std::memory_order_relaxed) + bytes,
                                  std::memory_order_relaxed);
    }

    //   batch  a scan is due whenever the calling thread's list has a multiple of this many blocks
    [[nodiscard]] bool is_due(std::uint32_t batch) const noexcept {
        const auto& own = view_.participants()[view_.own()];
        return own.retired_count.load(std::memory_order_relaxed) % batch == 0 ||
               own.retired_bytes.load(std::memory_order_relaxed) > bytes_most;
    }

    // Whether a block is in the list of a participant.
    [[nodiscard]] bool has(std::uint32_t owner, BlockNumber block) const {
        CircleFinder circle;
        for (BlockNumber one = last_of(owner); is_sound(one, circle); one = before(one)) {
            if (one == block) return true;
        }
        return false;
    }

    // Frees those blocks in a participant's list that no participant names. false: the kernel refused
    // the memory barrier on all processors, or there was no memory for the list of named blocks; a
    // later scan frees the blocks.
    //   owner              the calling thread's participant, an idle one, or a dead one
    //   left_bytes(block)  called before an unnamed block is freed. Returns 0, or the bytes of a
    //                      block that stays for a later scan; retired_bytes counts them
    template <typename LeftBytes>
    bool scan(std::uint32_t owner, const LeftBytes& left_bytes) const noexcept {
        // An allocation that finds no room scans for each idle participant. Most have retired
        // nothing, and the memory barrier below interrupts every processor: they return here.
        if (last_of(owner) == 0) {
            view_.participants()[owner].retired_bytes.store(0, std::memory_order_relaxed);
            return true;
        }
        const auto order_all = view_.blocks().order_all();
        if (order_all != nullptr && !order_all()) return false;  // partner: ReadGround::name
        try {
            free_all_but(owner, named_blocks(), left_bytes);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

private:
    [[nodiscard]] BlockNumber before(BlockNumber block) const noexcept {
        return link_of(block).load(std::memory_order_acquire) & number_mask;
    }

    // false: the end of a list, or the program has overwritten the word that leads to the block.
    // What follows stays allocated.
    [[nodiscard]] bool is_sound(BlockNumber block, CircleFinder& circle) const {
        return block != 0 && view_.may_be_retired(block) && !circle.is_back_at(block);
    }

    // Sorted. Throws std::bad_alloc.
    [[nodiscard]] std::vector<BlockNumber> named_blocks() const {
        std::vector<BlockNumber> named;
        view_.for_each_named([&named](BlockNumber block) {
            if (block != 0) named.push_back(block);
        });
        std::sort(named.begin(), named.end());
        return named;
    }

    template <typename LeftBytes>
    void free_all_but(std::uint32_t owner,
                      const std::vector<BlockNumber>& named,
                      const LeftBytes& left_bytes) const {
        auto& shown = view_.participants()[owner];
        BlockNumber kept = 0;  // the last block that stays in the list
        const auto continue_with = [&](BlockNumber next) {
            auto& word = kept == 0 ? shown.retired : link_of(kept);
            word.store((word.load(std::memory_order_relaxed) & ~number_mask) | next,
                       std::memory_order_release);
        };
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
        CircleFinder circle;
        BlockNumber block = last_of(owner);
        while (is_sound(block, circle)) {
            const BlockNumber next = before(block);
            const bool is_named = std::binary_search(named.begin(), named.end(), block);
            const std::uint64_t left = is_named ? 0 : left_bytes(block);
            if (is_named || left != 0) {
                kept = block;
                ++count;
                bytes += left;
            } else {
                unlink_and_free(view_.blocks(), view_.participants()[view_.own()].freeing,
                                view_.own(), block, View::spare_of_retired,
                                [&] { continue_with(next); });
            }
            block = next;
        }
        if (block != 0) continue_with(0);
        shown.retired_count.store(count, std::memory_order_relaxed);
        shown.retired_bytes.store(bytes, std::memory_order_relaxed);
    }

    const View& view_;
};

}  // namespace acp::table
