// SPDX-License-Identifier: BSD-3-Clause
// The window's arithmetic, over plain memory that stands for the blocks of three nodes.
#include "dsm/window.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace acp::dsm {
namespace {

constexpr std::uint64_t page_count = 5;
constexpr std::uint64_t state_bytes = 100;

struct alignas(pages::page_bytes) Page {
    std::byte bytes[pages::page_bytes];
};

class WindowTest : public ::testing::Test {
protected:
    char* tracked() { return reinterpret_cast<char*>(tracked_.data() + 1); }

    char* block() { return reinterpret_cast<char*>(block_.data()); }

    Window make(std::uint32_t nodes) {
        WindowPlaces places;
        places.tracked = tracked();
        places.block = block();
        places.pages = page_count;
        places.state_bytes = state_bytes;
        places.node = nodes - 1;
        for (std::uint32_t node = 0; node < nodes; ++node)
            places.blocks.push_back(std::uint64_t{node + 1} << 40);
        return Window(places);
    }

    std::vector<Page> tracked_ = std::vector<Page>(page_count + 2);
    std::vector<Page> block_ = std::vector<Page>(64);
};

TEST_F(WindowTest, has_the_addresses_of_its_pages_alone) {
    const Window window = make(1);
    EXPECT_EQ(window.bytes(), page_count * 4096);
    EXPECT_FALSE(window.has(tracked() - 1));
    EXPECT_TRUE(window.has(tracked()));
    EXPECT_TRUE(window.has(tracked() + window.bytes() - 1));
    EXPECT_FALSE(window.has(tracked() + window.bytes()));
    EXPECT_FALSE(window.has(nullptr));
}

TEST_F(WindowTest, overlaps_ranges_that_share_a_byte_with_it) {
    const Window window = make(1);
    EXPECT_FALSE(window.overlaps(tracked(), 0));
    EXPECT_FALSE(window.overlaps(tracked() - 8, 8));
    EXPECT_TRUE(window.overlaps(tracked() - 8, 9));
    EXPECT_TRUE(window.overlaps(tracked() - 8, 1 << 20));
    EXPECT_TRUE(window.overlaps(tracked() + window.bytes() - 1, 1));
    EXPECT_FALSE(window.overlaps(tracked() + window.bytes(), 1 << 20));
    EXPECT_TRUE(window.overlaps(nullptr, std::numeric_limits<std::uint64_t>::max()));
}

TEST_F(WindowTest, finds_the_pages_of_ranges_that_begin_or_end_outside) {
    const Window window = make(1);
    const auto expect_pages = [&](std::int64_t from, std::uint64_t bytes, std::uint64_t first,
                                  std::uint64_t count) {
        const PageRange found = window.pages_of(tracked() + from, bytes);
        EXPECT_EQ(found.first, first) << from << " " << bytes;
        EXPECT_EQ(found.count, count) << from << " " << bytes;
    };
    expect_pages(0, 1, 0, 1);
    expect_pages(4095, 1, 0, 1);
    expect_pages(4095, 2, 0, 2);
    expect_pages(4096, 8192, 1, 2);
    expect_pages(4 * 4096 + 1, 10 * 4096, 4, 1);
    expect_pages(-100, 101, 0, 1);
    expect_pages(-100, 100 + 4097, 0, 2);
    expect_pages(-100, 1 << 20, 0, page_count);
}

TEST_F(WindowTest, maps_a_page_twice) {
    const Window window = make(1);
    EXPECT_EQ(window.tracked(3), tracked() + 3 * 4096);
    EXPECT_EQ(window.page_of(tracked() + 3 * 4096 + 17), 3);
    EXPECT_EQ(reinterpret_cast<char*>(window.plain(3).data()), block() + 3 * 4096);
    EXPECT_EQ(window.address_of(3, 0), (std::uint64_t{1} << 40) + 3 * 4096);
}

TEST_F(WindowTest, needs_the_memory_of_its_pages_alone_on_one_node) {
    EXPECT_EQ(WindowLayout::of(page_count, 1, state_bytes).bytes, page_count * 4096);
}

TEST_F(WindowTest, keeps_structures_of_several_nodes_apart) {
    const Window window = make(3);
    const WindowLayout layout = WindowLayout::of(page_count, 3, state_bytes);
    ASSERT_LE(layout.bytes, block_.size() * sizeof(Page));
    EXPECT_EQ(layout.bytes % 4096, 0);
    const std::vector<std::uint64_t> ends = {layout.twins,   layout.page_words, layout.homes,
                                             layout.sharers, layout.clock,      layout.state,
                                             layout.bytes};
    std::uint64_t before = 0;
    for (const std::uint64_t end : ends) {
        EXPECT_GT(end, before);
        before = end;
    }
    EXPECT_EQ(reinterpret_cast<char*>(window.twin(2).data()), block() + layout.twins + 2 * 4096);
    EXPECT_EQ(window.twin_address_of(2), window.address_of(0, 2) + layout.twins + 2 * 4096);
    const pages::PageSpan third(reinterpret_cast<std::byte*>(block()) + 2 * 4096, 4096);
    EXPECT_EQ(window.own_address_of(third), window.address_of(2, 2));
    EXPECT_EQ(window.sharers_address_of(1), window.address_of(0, 1) + layout.sharers);

    // Writes to one structure leave the others as they are.
    window.homes().set_home(page_count - 1, 2);
    window.sharers().mark(page_count - 1, 2);
    window.clock().use(page_count - 1);
    EXPECT_EQ(window.page_words().access(page_count - 1, 7, [](std::uint32_t) { return false; }),
              pages::PageAccess::fetch);
    window.state()[0] = 1;
    window.state()[state_bytes - 1] = 1;
    EXPECT_EQ(window.homes().home(page_count - 1), 2);
    EXPECT_EQ(window.homes().home(0), pages::no_node);
    EXPECT_TRUE(window.sharers().has(page_count - 1, 2));
    EXPECT_FALSE(window.sharers().has(0, 2));
    EXPECT_EQ(window.clock().count(), 1);
    EXPECT_EQ(window.page_words().read(0).state, pages::PageState::absent);
    for (const std::byte byte : window.plain(page_count - 1)) ASSERT_EQ(byte, std::byte{0});
    for (const std::byte byte : window.twin(page_count - 1)) ASSERT_EQ(byte, std::byte{0});
}

}  // namespace
}  // namespace acp::dsm
