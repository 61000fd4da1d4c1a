// SPDX-License-Identifier: BSD-3-Clause
// The word of a page grants each process what its state allows, one after the other. One thread.
#include "pages/page_word.hpp"

#include <array>
#include <gtest/gtest.h>

namespace acp::pages {
namespace {

bool is_dead_five(SlotNumber slot) {
    return slot == 5;
}

struct PageWordTest : testing::Test {
    std::array<std::atomic<std::uint64_t>, 2> memory{};
    PageWords<> words{memory.data(), memory.size()};

    [[nodiscard]] PageAccess access(SlotNumber slot) const {
        return words.access(1, slot, is_dead_five);
    }

    [[nodiscard]] bool begin_drop(SlotNumber slot) const {
        return words.begin_drop(1, slot, is_dead_five).has_value();
    }

    void fetch(SlotNumber slot) const {
        EXPECT_EQ(access(slot), PageAccess::fetch);
        EXPECT_TRUE(words.end_fetch(1, slot, true));
    }

    ~PageWordTest() override { EXPECT_EQ(memory[0].load(), 0U) << "the word of another page"; }

    PageWordTest() = default;
    PageWordTest(const PageWordTest&) = delete;
    PageWordTest& operator=(const PageWordTest&) = delete;
};

TEST_F(PageWordTest, packs_each_field_apart) {
    const PageWord word{PageState::home, PageWord::several, (std::uint64_t{1} << 46) - 1};
    EXPECT_EQ(word.packed(), ~std::uint64_t{0});
    const PageWord again =
        PageWord::unpacked(PageWord{PageState::held, slots_max, std::uint64_t{1} << 45}.packed());
    EXPECT_EQ(again.state, PageState::held);
    EXPECT_EQ(again.who, slots_max);
    EXPECT_EQ(again.epoch, std::uint64_t{1} << 45);
}

TEST_F(PageWordTest, gives_an_absent_page_to_one_fetcher) {
    EXPECT_EQ(access(0), PageAccess::fetch);
    EXPECT_EQ(access(1), PageAccess::wait);
    EXPECT_EQ(access(0), PageAccess::wait) << "another thread of the fetcher";
    EXPECT_TRUE(words.read(1).is_held_by(0));
    EXPECT_TRUE(words.end_fetch(1, 0, true));
    EXPECT_EQ(access(1), PageAccess::map);
    EXPECT_EQ(access(0), PageAccess::map);
}

TEST_F(PageWordTest, maps_a_neighbour_only_if_the_node_has_its_bytes) {
    EXPECT_FALSE(words.try_map(1, 0));
    EXPECT_EQ(words.read(1).state, PageState::absent);
    EXPECT_EQ(access(0), PageAccess::fetch);
    EXPECT_FALSE(words.try_map(1, 1));
    EXPECT_TRUE(words.read(1).is_held_by(0));
    EXPECT_TRUE(words.end_fetch(1, 0, false));
    EXPECT_TRUE(words.try_map(1, 2));
    EXPECT_EQ(words.read(1).who, 3U);
    EXPECT_TRUE(words.try_map(1, 0));
    EXPECT_EQ(words.read(1).who, PageWord::several);
    words.become_home(1);
    EXPECT_TRUE(words.try_map(1, 3));
}

TEST_F(PageWordTest, gives_an_abandoned_page_to_the_next_fetcher) {
    EXPECT_EQ(access(0), PageAccess::fetch);
    EXPECT_TRUE(words.abandon(1, 0));
    EXPECT_EQ(access(1), PageAccess::fetch);
    EXPECT_FALSE(words.abandon(1, 0)) << "it is no longer its own";
    EXPECT_FALSE(words.end_fetch(1, 0, true));
    EXPECT_TRUE(words.read(1).is_held_by(1));
}

TEST_F(PageWordTest, gives_a_dead_fetchers_page_to_the_next_one) {
    EXPECT_EQ(access(5), PageAccess::fetch);
    EXPECT_EQ(access(1), PageAccess::fetch);
    EXPECT_EQ(access(0), PageAccess::wait) << "the new holder lives";
}

TEST_F(PageWordTest, lets_a_process_drop_a_copy_that_it_alone_maps) {
    fetch(0);
    EXPECT_FALSE(begin_drop(1)) << "another process maps it";
    EXPECT_TRUE(begin_drop(0));
    EXPECT_EQ(access(0), PageAccess::wait) << "while it is dropped";
    EXPECT_EQ(access(1), PageAccess::wait);
    EXPECT_FALSE(begin_drop(0)) << "once";
    EXPECT_TRUE(words.abandon(1, 0));
    EXPECT_EQ(access(1), PageAccess::fetch);
}

TEST_F(PageWordTest, lets_no_process_drop_a_copy_that_several_map) {
    fetch(0);
    EXPECT_EQ(access(1), PageAccess::map);
    EXPECT_FALSE(begin_drop(0));
    EXPECT_FALSE(begin_drop(1));
    words.invalidate(1);
    EXPECT_EQ(words.read(1).state, PageState::absent);
}

TEST_F(PageWordTest, lets_any_process_drop_a_copy_that_none_or_a_dead_one_maps) {
    EXPECT_EQ(access(0), PageAccess::fetch);
    EXPECT_TRUE(words.end_fetch(1, 0, false));
    EXPECT_TRUE(begin_drop(1));
    EXPECT_TRUE(words.abandon(1, 1));
    fetch(5);
    EXPECT_TRUE(begin_drop(1));
}

TEST_F(PageWordTest, lets_any_process_give_back_the_memory_of_an_absent_page) {
    EXPECT_TRUE(begin_drop(0));
    EXPECT_FALSE(begin_drop(1)) << "another process holds it";
    EXPECT_EQ(access(1), PageAccess::wait);
    EXPECT_TRUE(words.abandon(1, 0));
    EXPECT_EQ(access(1), PageAccess::fetch);
}

TEST_F(PageWordTest, of_a_dead_holder_may_be_dropped) {
    EXPECT_EQ(access(5), PageAccess::fetch);
    const auto before = words.begin_drop(1, 0, is_dead_five);
    ASSERT_TRUE(before.has_value());
    EXPECT_EQ(before->state, PageState::held);
    words.cancel_drop(1, 0, *before);
    EXPECT_EQ(words.read(1).state, PageState::absent) << "its bytes are of no use";
}

TEST_F(PageWordTest, is_as_before_a_drop_that_is_cancelled) {
    const auto cancelled = [this](SlotNumber slot) {
        const auto before = words.begin_drop(1, slot, is_dead_five);
        ASSERT_TRUE(before.has_value());
        words.cancel_drop(1, slot, *before);
        EXPECT_EQ(words.read(1).packed(), before->packed());
    };
    cancelled(0);
    fetch(0);
    cancelled(0);
    EXPECT_FALSE(begin_drop(1)) << "the other process maps it";
    words.invalidate(1);
    EXPECT_EQ(access(0), PageAccess::fetch);
    EXPECT_TRUE(words.end_fetch(1, 0, false));
    cancelled(1);
}

TEST_F(PageWordTest, keeps_the_epoch_of_the_last_write_through_every_change) {
    words.note_write(1, 7);
    words.note_write(1, 6);
    fetch(0);
    EXPECT_EQ(access(1), PageAccess::map);
    words.invalidate(1);
    fetch(0);
    EXPECT_TRUE(begin_drop(0));
    EXPECT_TRUE(words.abandon(1, 0));
    words.become_home(1);
    words.lose_home(1, true);
    EXPECT_EQ(words.read(1).epoch, 7U);
    words.note_write(1, 8);
    EXPECT_EQ(words.read(1).epoch, 8U);
    EXPECT_EQ(words.read(1).state, PageState::valid) << "a write changes the epoch alone";
}

TEST_F(PageWordTest, of_a_home_is_mapped_at_once_and_never_dropped_or_invalidated) {
    words.become_home(1);
    EXPECT_EQ(access(0), PageAccess::map);
    EXPECT_FALSE(begin_drop(0));
    words.invalidate(1);
    EXPECT_EQ(words.read(1).state, PageState::home);
}

TEST_F(PageWordTest, of_a_lost_home_is_a_copy_that_several_map_or_absent) {
    words.become_home(1);
    words.lose_home(1, true);
    EXPECT_FALSE(begin_drop(0)) << "any process may map it";
    EXPECT_EQ(access(0), PageAccess::map);
    words.become_home(1);
    words.lose_home(1, false);
    EXPECT_EQ(access(0), PageAccess::fetch);
    words.lose_home(1, true);
    EXPECT_TRUE(words.read(1).is_held_by(0)) << "no home is lost twice";
    words.invalidate(1);
    EXPECT_EQ(words.read(1).state, PageState::absent) << "half of a copy";
}

}  // namespace
}  // namespace acp::pages
