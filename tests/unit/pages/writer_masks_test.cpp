// SPDX-License-Identifier: BSD-3-Clause
// The bytes that nodes wrote to pages are kept by page and node; where no room is left the page is
// marked. Threads of several processes add them at the same time, and one may be killed at any store.
#include "pages/writer_masks.hpp"

#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::pages {
namespace {

namespace sched = test::sched;

WrittenBytes bytes_at(std::initializer_list<std::uint32_t> places) {
    WrittenBytes bytes;
    for (const std::uint32_t place : places) {
        const std::size_t line = place / line_bytes;
        bytes.set_line(line, bytes.line(line) | std::uint64_t{1} << place % line_bytes);
    }
    return bytes;
}

// Page and node, with the first byte, the number of bytes, and the rank.
struct Kept {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t rank_next = 0;

    bool operator==(const Kept&) const = default;
};

using Contents = std::map<std::pair<PageNumber, NodeNumber>, Kept>;

template <template <class> class Atomic>
struct MasksOf {
    MasksOf(std::uint64_t pages, std::uint64_t entries)
        : memory(WriterMasks<Atomic>::bytes(pages, entries) / sizeof(std::uint64_t)),
          masks(memory.data(), pages, entries) {}

    [[nodiscard]] Contents contents() const {
        Contents all;
        masks.for_each_page([&](PageNumber page) {
            masks.for_each_writer(page, [&](const PageWriter& writer, const WrittenBytes& bytes) {
                const auto added =
                    all.emplace(std::pair(page, writer.node),
                                Kept{bytes.run_from(0).first, bytes.count(), writer.rank_next});
                EXPECT_TRUE(added.second) << "twice: page " << page << ", node " << writer.node;
            });
        });
        return all;
    }

    std::vector<Atomic<std::uint64_t>> memory;
    WriterMasks<Atomic> masks;
};

TEST(WriterMasksTest, keep_the_bytes_of_each_node_and_page) {
    MasksOf<std::atomic> home(10, 10);
    EXPECT_TRUE(home.masks.add(0, {1, 5}, bytes_at({0})));
    EXPECT_TRUE(home.masks.add(0, {2, 6}, bytes_at({4095})));
    EXPECT_TRUE(home.masks.add(9, {1, 5}, bytes_at({63, 64})));
    EXPECT_TRUE(home.masks.add(0, {1, 5}, bytes_at({4095, 0})));
    const Contents expected = {{{0, 1}, {0, 2, 5}}, {{0, 2}, {4095, 1, 6}}, {{9, 1}, {63, 2, 5}}};
    EXPECT_EQ(home.contents(), expected);
    EXPECT_EQ(home.masks.unchecked(), 0U);
}

TEST(WriterMasksTest, say_whether_one_rank_or_several_wrote) {
    MasksOf<std::atomic> home(1, 4);
    const auto rank_of = [&](NodeNumber node) { return home.contents().at({0, node}).rank_next; };
    home.masks.add(0, {1, PageWriter::unknown}, bytes_at({1}));
    EXPECT_EQ(rank_of(1), PageWriter::unknown);
    home.masks.add(0, {1, 7}, bytes_at({2}));
    EXPECT_EQ(rank_of(1), 7U);
    home.masks.add(0, {1, PageWriter::unknown}, bytes_at({3}));
    EXPECT_EQ(rank_of(1), 7U);
    home.masks.add(0, {1, 8}, bytes_at({4}));
    EXPECT_EQ(rank_of(1), PageWriter::several);
}

TEST(WriterMasksTest, mark_a_page_once_where_the_pool_is_used_up) {
    MasksOf<std::atomic> home(5, 2);
    EXPECT_TRUE(home.masks.add(3, {1, 0}, bytes_at({8})));
    EXPECT_TRUE(home.masks.add(3, {2, 0}, bytes_at({9})));
    EXPECT_FALSE(home.masks.add(3, {3, 0}, bytes_at({10})));
    EXPECT_FALSE(home.masks.add(3, {4, 0}, bytes_at({10})));
    EXPECT_FALSE(home.masks.add(4, {1, 0}, bytes_at({10})));
    EXPECT_EQ(home.masks.unchecked(), 2U);
    EXPECT_TRUE(home.masks.add(3, {1, 0}, bytes_at({11}))) << "it has an entry";
    EXPECT_EQ(home.contents().size(), 2U);
    home.masks.clear();
    EXPECT_EQ(home.masks.unchecked(), 0U);
    EXPECT_TRUE(home.contents().empty());
    EXPECT_TRUE(home.masks.add(4, {1, 0}, bytes_at({10})));
    EXPECT_TRUE(home.masks.add(3, {9, 0}, bytes_at({10})));
    EXPECT_EQ(home.contents().size(), 2U) << "nothing is left of the epoch before";
}

TEST(WriterMasksTest, keep_so_many_nodes_of_a_page_and_no_more) {
    constexpr std::uint64_t most = WriterMasks<>::writers_max;
    MasksOf<std::atomic> home(1, most + 10);
    for (NodeNumber node = 0; node < most; ++node)
        EXPECT_TRUE(home.masks.add(0, {node, 0}, bytes_at({node})));
    EXPECT_FALSE(home.masks.add(0, {most, 0}, bytes_at({0})));
    EXPECT_EQ(home.contents().size(), most);
}

TEST(WriterMasksTest, forget_what_a_node_has_fenced) {
    MasksOf<std::atomic> home(2, 4);
    home.masks.add(0, {1, 0}, bytes_at({8}));
    home.masks.add(0, {2, 0}, bytes_at({8}));
    home.masks.add(1, {1, 0}, bytes_at({8}));
    home.masks.end(0, 1);
    home.masks.end(1, 2);
    const Contents contents = home.contents();
    EXPECT_EQ(contents.at({0, 1}).count, 0U);
    EXPECT_EQ(contents.at({0, 2}).count, 1U);
    EXPECT_EQ(contents.at({1, 1}).count, 1U);
    EXPECT_EQ(contents.size(), 3U);
}

// The memory of a request is named by another process, which may be faulty.
TEST(WriterMasksTest, stay_in_their_memory_whatever_it_contains) {
    constexpr std::uint64_t guard = 0x5a5a5a5a5a5a5a5aU;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        test::Random random(seed);
        MasksOf<std::atomic> home(3, 3);
        const std::size_t used = home.memory.size();
        std::vector<std::atomic<std::uint64_t>> memory(used + 8);
        for (std::size_t i = 0; i < used; ++i)
            memory[i] = random.chance(50) ? random.below(6) : random.below(~std::uint64_t{0});
        for (std::size_t i = used; i < memory.size(); ++i) memory[i] = guard;
        const WriterMasks<> masks(memory.data(), 3, 3);
        (void)masks.add(random.below(3), {static_cast<NodeNumber>(random.below(4)), 0},
                        bytes_at({17}));
        masks.end(random.below(3), 1);
        masks.for_each_page([&](PageNumber page) {
            masks.for_each_writer(page, [](const PageWriter&, const WrittenBytes&) {});
        });
        masks.clear();
        for (std::size_t i = used; i < memory.size(); ++i) EXPECT_EQ(memory[i], guard) << seed;
    }
}

TEST(WriterMasksTest, keep_the_bytes_that_threads_add_at_the_same_time) {
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        MasksOf<sched::Atomic> home(2, 12);
        const auto add = [&](NodeNumber node) {
            return [&home, node] {
                for (std::uint32_t i = 0; i < 3; ++i)
                    EXPECT_TRUE(home.masks.add(i % 2, {node, node + 1}, bytes_at({8 * node + i})));
            };
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {add(0), add(1), add(2), add(3)}).failure, "");
        const Contents contents = home.contents();
        EXPECT_EQ(contents.size(), 8U);
        for (NodeNumber node = 0; node < 4; ++node) {
            EXPECT_EQ(contents.at({0, node}), (Kept{8 * node, 2, node + 1}));
            EXPECT_EQ(contents.at({1, node}), (Kept{8 * node + 1, 1, node + 1}));
        }
        home.masks.clear();
        EXPECT_TRUE(home.contents().empty());
    });
}

}  // namespace
}  // namespace acp::pages
