// SPDX-License-Identifier: BSD-3-Clause
// Heaps that containers fill to the last byte: every call ends, a call without room fails with
// ACP_ERR_MEMORY, all inserted elements are found with their bytes, and afterwards the heap is as
// before. For each kind, size of element and order of growth, on the heap of each rank. Rank 0 does
// this, except for the last order, in which all ranks do it at the same time. Arguments: how many
// KiB of the heap containers may fill (0: all of it; one block before them takes the rest), and the
// elements' sizes, each as N or FIRST-LAST; a step (FIRST-LAST/STEP) takes another size for each
// kind and order.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <acp.h>

#include "containers/filled.hpp"
#include "containers/model.hpp"
#include "support/watchdog.hpp"

namespace acp::test {

std::unique_ptr<Filled> make_filled(std::string_view kind, int rank, std::size_t bytes) {
    if (kind == "vector") return make_filled_vector(rank, bytes);
    if (kind == "deque") return make_filled_deque(rank, bytes);
    if (kind == "list") return make_filled_list(rank, rank, bytes);
    if (kind == "apart") return make_filled_list(rank, (rank + 1) % acp_procs(), bytes);
    if (kind == "map") return make_filled_map(rank, bytes);
    if (kind == "multimap") return make_filled_multimap(rank, bytes);
    return kind == "set" ? make_filled_set(rank, bytes) : make_filled_multiset(rank, bytes);
}

namespace {

constexpr std::array<const char*, 6> orders{"append", "prepend",     "middle",
                                            "refill", "alternating", "together"};
constexpr std::size_t together = 5;
constexpr std::size_t unit_bytes = 16'384;

// The room for containers whose calls copy the content.
constexpr std::size_t copied_room = std::size_t{64} << 10;

// The heap of a rank. Blocks that are allocated here are freed at the end.
class Heap {
public:
    explicit Heap(int rank) : rank_(rank) {}

    // The size of the largest free block, in whole units.
    [[nodiscard]] std::size_t largest() const {
        std::size_t least = 0;
        for (std::size_t most = stat().limit / unit_bytes + 1; most - least > 1;) {
            const std::size_t middle = (least + most) / 2;
            const acp_ga_t block = acp_malloc(middle * unit_bytes, rank_);
            if (block == ACP_GA_NULL) must(acp_errno() == ACP_ERR_MEMORY, "acp_malloc");
            must(acp_free(block) == 0, "acp_free");
            (block == ACP_GA_NULL ? most : least) = middle;
        }
        return least * unit_bytes;
    }

    // Allocates a block. False: there is no room.
    bool take(std::size_t bytes) {
        const acp_ga_t block = acp_malloc(bytes, rank_);
        if (!is_done(block != ACP_GA_NULL, "acp_malloc")) return false;
        blocks_.push_back(block);
        return true;
    }

    // Allocates all remaining room, down to blocks of 16 bytes.
    void take_rest() {
        held_ = blocks_.size();
        for (std::size_t bytes = std::size_t{1} << 23; bytes >= 16; bytes /= 2) {
            while (take(bytes)) {
            }
        }
    }

    void free_rest() { free_from(held_); }

    void free_all() { free_from(0); }

    [[nodiscard]] acp_heap_stat_t stat() const {
        acp_heap_stat_t stat{};
        must(acp_heap_stat(rank_, &stat) == 0, "acp_heap_stat");
        return stat;
    }

    // Checks that the heap has that many blocks, and room for a block of the former largest size.
    void expect_whole(std::size_t blocks, std::size_t largest_bytes) const {
        must(acp_heap_check(rank_) == 0, "acp_heap_check");
        must(stat().blocks == blocks, "blocks are left");
        const acp_ga_t block = acp_malloc(largest_bytes, rank_);
        must(block != ACP_GA_NULL, "the heap has no block of its former size");
        must(acp_free(block) == 0, "acp_free");
    }

private:
    void free_from(std::size_t first) {
        must(acp_free_many(blocks_.size() - first, blocks_.data() + first) == 0, "acp_free_many");
        blocks_.resize(first);
    }

    int rank_;
    std::vector<acp_ga_t> blocks_;
    std::size_t held_ = 0;  // number of blocks before take_rest()
};

struct Sizes {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t step = 1;
};

class Sweep {
public:
    Sweep(std::size_t room, std::vector<Sizes> sizes) : room_(room), sizes_(std::move(sizes)) {
        for (int rank = 0; rank < acp_procs(); ++rank) {
            heaps_.emplace_back(rank);
            blocks_.push_back(heaps_.back().stat().blocks);
            acp_sync();  // the ranks take turns
            largest_.push_back(acp_rank() == 0 ? heaps_.back().largest() : 0);
            acp_sync();
        }
    }

    // Returns whether all cases passed. A failure ends the job, since the ranks wait for each
    // other.
    bool run() {
        std::size_t shift = 0;
        for (const std::string_view kind : filled_kinds) {
            for (std::size_t order = 0; order < orders.size(); ++order, ++shift) {
                for (const Sizes& sizes : sizes_) {
                    const std::size_t first = sizes.first + shift * 17 % sizes.step;
                    for (std::size_t bytes = first; bytes <= sizes.last; bytes += sizes.step) {
                        for (int rank = 0; rank < acp_procs(); ++rank) {
                            if (!run_case({kind, order, bytes, rank})) return false;
                        }
                    }
                }
            }
        }
        if (acp_rank() == 0) std::printf("%zu cases, %zu elements\n", cases_, elements_);
        return true;
    }

private:
    struct Case {
        std::string_view kind;
        std::size_t order;
        std::size_t bytes;
        int rank;
    };

    bool run_case(const Case& one) {
        name_ = std::string(one.kind) + ", " + orders[one.order] + ", elements of " +
                std::to_string(one.bytes) + " bytes, heap of rank " + std::to_string(one.rank);
        try {
            if (one.order == together) meet();
            look_alive();
            if (one.order == together || acp_rank() == 0) fill(one);
            if (one.order == together) meet();
            if (acp_rank() == 0) expect_whole();
            arm_watchdog(0, "");
            ++cases_;
            return true;
        } catch (const Mismatch& mismatch) {
            std::fprintf(stderr, "%s: rank %d: %s\n", name_.c_str(), acp_rank(),
                         mismatch.what.c_str());
            return false;
        }
    }

    void look_alive() const { arm_watchdog(120, name_.c_str()); }

    // Waits for the other ranks without a limit: they may have many cases of their own before.
    void meet() const {
        arm_watchdog(0, "");
        acp_sync();
        look_alive();
    }

    void fill(const Case& one) {
        const std::size_t count = orders[one.order] == std::string_view("alternating") ? 2 : 1;
        std::vector<std::unique_ptr<Filled>> all;
        for (std::size_t i = 0; i < count; ++i)
            all.push_back(make_filled(one.kind, one.rank, one.bytes));
        if (all[0]->grows()) {
            Heap& heap = heaps_[static_cast<std::size_t>(one.rank)];
            if (one.order == together) meet();
            if (acp_rank() == 0) leave(heap, room_of(one, *all[0]));
            if (one.order == together) meet();
            grow(one, all);
            look_at_full(heap, all);
            if (orders[one.order] != std::string_view("refill")) clear(all);
            heap.free_rest();
            if (orders[one.order] == std::string_view("refill")) refill(all);
            heap.free_all();
        }
        for (auto& filled : all) filled->destroy();
    }

    // Allocates a block so that containers have `room` bytes; 0: all.
    static void leave(Heap& heap, std::size_t room) {
        const std::size_t largest = heap.largest();
        if (room != 0 && room < largest) must(heap.take(largest - room), "acp_malloc");
    }

    [[nodiscard]] std::size_t room_of(const Case& one, const Filled& filled) const {
        const bool is_copied = filled.copies_to_insert() && place_of(one) != Place::back;
        if (is_copied) return room_ == 0 ? copied_room : std::min(room_, copied_room);
        // Single bytes to another node take long.
        return filled.copies_to_insert() ? std::min(room_, one.bytes * 2'048) : room_;
    }

    static Place place_of(const Case& one) {
        if (one.order == 1) return Place::front;
        return one.order == 2 ? Place::middle : Place::back;
    }

    // Inserts until each container has had no room.
    void grow(const Case& one, const std::vector<std::unique_ptr<Filled>>& all) {
        std::size_t full = 0;
        std::vector<bool> is_full(all.size());
        for (std::size_t turn = 0; full < all.size(); ++turn) {
            const std::size_t which = turn % all.size();
            if (is_full[which]) continue;
            if (turn % 256 == 0) look_alive();
            if (all[which]->put(place_of(one), next_++)) {
                ++elements_;
            } else {
                is_full[which] = true;
                ++full;
            }
        }
    }

    // Fills the rest of the heap, and checks that further calls fail and change nothing.
    void look_at_full(Heap& heap, const std::vector<std::unique_ptr<Filled>>& all) {
        heap.take_rest();
        for (const auto& filled : all) {
            for (const Place place : {Place::back, Place::front, Place::middle})
                (void)filled->put(place, next_++);
            look_alive();
            filled->compare();
        }
    }

    // Clears containers while the heap is full: each is empty then, or as it was.
    static void clear(const std::vector<std::unique_ptr<Filled>>& all) {
        for (const auto& filled : all) {
            (void)filled->clear();
            filled->compare();
        }
    }

    void refill(const std::vector<std::unique_ptr<Filled>>& all) {
        for (int round = 0; round < 2; ++round) {
            look_alive();
            all[0]->thin_out();
            while (all[0]->put(Place::back, next_++)) {
                if (++elements_ % 256 == 0) look_alive();
            }
            look_alive();
            all[0]->compare();
        }
    }

    void expect_whole() const {
        look_alive();
        for (std::size_t i = 0; i < heaps_.size(); ++i)
            heaps_[i].expect_whole(blocks_[i], largest_[i]);
    }

    std::size_t room_;
    std::vector<Sizes> sizes_;
    std::vector<Heap> heaps_;
    std::vector<std::size_t> blocks_;  // number in each heap before the containers
    std::vector<std::size_t> largest_;
    std::string name_;
    std::uint32_t next_ = 1;
    std::size_t cases_ = 0;
    std::size_t elements_ = 0;
};

Sizes sizes_of(const char* text) {
    Sizes sizes;
    char* end = nullptr;
    sizes.first = sizes.last = std::strtoull(text, &end, 10);
    if (*end == '-') sizes.last = std::strtoull(end + 1, &end, 10);
    if (*end == '/') sizes.step = std::max<std::size_t>(1, std::strtoull(end + 1, &end, 10));
    return sizes;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0 || argc < 3) {
        std::fprintf(stderr, "usage: full_heap KIB SIZES...; %s\n", acp_error_message());
        return 1;
    }
    std::vector<acp::test::Sizes> sizes;
    for (int i = 2; i < argc; ++i) sizes.push_back(acp::test::sizes_of(argv[i]));
    acp::test::Sweep sweep(std::strtoull(argv[1], nullptr, 10) << 10, sizes);
    if (!sweep.run()) return 1;
    acp_sync();
    acp_finalize();
    return 0;
}
