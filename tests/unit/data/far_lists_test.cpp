// SPDX-License-Identifier: BSD-3-Clause
// Lists on the ranks of two nodes, and elements that move between them, with the bytes in the node
// of a list, in a separate block there, and in the heap of a third rank. A move whose steps are
// refused leaves the element in its list, or inserts it there again, and leaves no block.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/lists.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/data/two_nodes.hpp"

namespace acp::data::test {
namespace {

using allocator::InsertElement;
using allocator::LendBlock;
using allocator::ReserveNode;
using allocator::TakeElement;
using base::Code;
using RunStep = std::function<void()>;
using Texts = std::vector<std::string>;

const std::vector<std::size_t> lengths{0, 1, 24, 500, 5'000, 70'000};

class FarListsTest : public testing::Test {
protected:
    FarListsTest() {
        for (std::uint32_t rank = 0; rank < TwoNodes::procs; ++rank)
            lists_.push_back(std::make_unique<Lists>(*node_[rank].gma, *node_[rank].allocator));
    }

    GlobalAddress make(std::uint32_t rank) {
        auto made = here().make(rank);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.value();
    }

    ListPlace push(GlobalAddress list, const std::string& text, std::uint32_t rank) {
        auto made = here().insert(Lists::end_of(list), {text.data(), text.size(), rank});
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.is_ok() ? made.value() : ListPlace{};
    }

    Texts content(std::uint32_t rank, GlobalAddress list, bool is_backward = false) {
        Texts all;
        for (ListPlace at = Lists::end_of(list);;) {
            auto next = lists_[rank]->neighbour(at, is_backward);
            EXPECT_TRUE(next.is_ok()) << next.failure().message();
            if (!next.is_ok() || next.value().is_end()) return all;
            at = next.value();
            std::string text(80'000, '\0');
            auto bytes = lists_[rank]->read(at, text.data(), text.size());
            EXPECT_TRUE(bytes.is_ok()) << bytes.failure().message();
            text.resize(bytes.is_ok() ? bytes.value() : 0);
            all.push_back(text);
        }
    }

    // The bytes in use on all ranks.
    std::uint64_t used() {
        std::uint64_t sum = 0;
        for (std::uint32_t rank = 0; rank < TwoNodes::procs; ++rank) sum += node_.used(rank);
        return sum;
    }

    [[nodiscard]] Lists& here() { return *lists_[0]; }

    acp::test::ScopedWatchdog watchdog_{"unit_data: a list on two nodes"};
    TwoNodes node_;
    std::vector<std::unique_ptr<Lists>> lists_;
};

TEST_F(FarListsTest, an_element_of_any_length_moves_between_any_two_ranks) {
    const std::uint64_t before = used();
    for (std::uint32_t from = 0; from < TwoNodes::procs; ++from) {
        for (std::uint32_t to = 0; to < TwoNodes::procs; ++to) {
            const GlobalAddress one = make(from);
            const GlobalAddress other = make(to);
            Texts texts;
            for (const std::size_t length : lengths) {
                for (const std::uint32_t rank : {from, to, 3 - from}) {
                    texts.push_back(std::string(length, static_cast<char>('a' + rank)));
                    push(one, texts.back(), rank);
                }
            }
            const ListPlace last = push(other, "last", to);
            for (std::size_t i = 0; i < texts.size(); ++i) {
                auto first = here().neighbour(Lists::end_of(one), false);
                ASSERT_TRUE(first.is_ok()) << first.failure().message();
                auto moved = here().move(last, first.value());
                ASSERT_TRUE(moved.is_ok()) << moved.failure().message();
                EXPECT_EQ(moved.value().list, other);
            }
            texts.push_back("last");
            EXPECT_EQ(content(0, other), texts) << from << " to " << to;
            EXPECT_EQ(content(2, other), texts);
            EXPECT_EQ(content(1, one), Texts());
            EXPECT_EQ(here().size(other).value(), texts.size());
            EXPECT_TRUE(here().destroy(one).is_ok());
            EXPECT_TRUE(here().destroy(other).is_ok());
        }
    }
    EXPECT_EQ(used(), before);
    for (std::uint32_t rank = 0; rank < TwoNodes::procs; ++rank) node_.check_heap(rank);
}

TEST_F(FarListsTest, a_list_is_walked_read_and_taken_in_both_directions) {
    const GlobalAddress list = make(2);
    Texts texts;
    for (const std::size_t length : lengths) {
        texts.push_back(std::string(length, static_cast<char>('a' + length % 20)));
        push(list, texts.back(), 3);
    }
    EXPECT_EQ(content(0, list, true), Texts(texts.rbegin(), texts.rend()));
    std::string room(80'000, '.');
    for (bool is_last = false; !texts.empty(); is_last = !is_last) {
        auto taken = is_last ? here().take_last(list, room.data(), room.size())
                             : here().take_first(list, room.data(), room.size());
        ASSERT_TRUE(taken.is_ok()) << taken.failure().message();
        const std::string& wanted = is_last ? texts.back() : texts.front();
        ASSERT_EQ(taken.value().bytes, wanted.size());
        EXPECT_EQ(room.substr(0, wanted.size()), wanted);
        texts.erase(is_last ? texts.end() - 1 : texts.begin());
        EXPECT_EQ(content(1, list), texts);
    }
}

// Each step before the element is taken out: nothing has changed.
TEST_F(FarListsTest, a_move_that_finds_no_room_leaves_the_element_and_no_block) {
    const GlobalAddress from = make(3);
    const GlobalAddress to = make(2);
    for (const std::size_t length : lengths) {
        const std::string text(length, 't');
        const ListPlace element = push(from, text, 3);
        const std::uint64_t before = used();
        const auto expect_refused = [&](const char* step) {
            auto moved = here().move(Lists::end_of(to), element);
            if (moved.is_ok()) {  // the step is not one of a move of this length
                EXPECT_TRUE(here().move(Lists::end_of(from), moved.value()).is_ok());
                return;
            }
            EXPECT_EQ(moved.failure().code(), Code::memory) << step;
            EXPECT_EQ(content(0, from), Texts{text}) << step << ", " << length;
            EXPECT_EQ(content(0, to), Texts()) << step;
            EXPECT_EQ(used(), before) << step << ", " << length;
        };
        node_.refuse<ReserveNode>(Code::memory);
        expect_refused("reserving a node");
        node_.intercept<ReserveNode>(nullptr);
        node_.refuse<LendBlock>(Code::memory);
        expect_refused("borrowing a block");
        node_.intercept<LendBlock>(nullptr);
        ASSERT_TRUE(here().clear(from, 100).is_ok());
        ASSERT_TRUE(here().clear(to, 100).is_ok());
    }
}

// Another thread erases the element before which the copy goes, when that is reserved already.
TEST_F(FarListsTest, an_element_whose_place_is_erased_meanwhile_becomes_the_last_one) {
    const GlobalAddress from = make(3);
    const GlobalAddress to = make(2);
    const std::string text(300, 't');
    const ListPlace element = push(from, text, 3);
    const ListPlace gone = push(to, "gone", 2);
    push(to, "stays", 2);
    node_.intercept<TakeElement>([&](NodeAnswer&, const RunStep& run) {
        char room[8];
        (void)lists_[2]->take(gone, room, sizeof room);
        run();
    });
    auto moved = here().move(gone, element);
    node_.intercept<TakeElement>(nullptr);
    if (moved.is_ok()) {
        EXPECT_EQ(content(0, to), (Texts{"stays", text}));
        EXPECT_EQ(content(0, from), Texts());
    } else {
        EXPECT_EQ(moved.failure().code(), Code::stale);
        EXPECT_EQ(content(0, from), Texts{text});
        EXPECT_EQ(content(0, to), Texts{"stays"});
    }
}

TEST_F(FarListsTest, an_element_that_two_ranks_move_is_in_one_list) {
    const GlobalAddress from = make(3);
    const std::vector<GlobalAddress> to{make(0), make(2)};
    constexpr int elements = 60;
    for (int i = 0; i < elements; ++i)
        push(from, std::to_string(i) + std::string(static_cast<std::size_t>(i) * 17, 'x'), 3);
    std::vector<std::thread> movers;
    for (const std::uint32_t mover : {0U, 1U}) {
        movers.emplace_back([&, mover] {
            for (;;) {
                auto first = lists_[mover]->neighbour(Lists::end_of(from), false);
                if (!first.is_ok() || first.value().is_end()) return;
                (void)lists_[mover]->move(Lists::end_of(to[mover]), first.value());
            }
        });
    }
    for (std::thread& mover : movers) mover.join();
    std::set<std::string> seen;
    for (const GlobalAddress list : to) {
        for (const std::string& text : content(0, list))
            EXPECT_TRUE(seen.insert(text).second) << text;
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(elements));
}

TEST_F(FarListsTest, calls_on_lists_of_a_lost_node_fail_and_elements_stay_in_the_others) {
    const GlobalAddress near = make(1);
    const GlobalAddress far = make(2);
    const ListPlace stays = push(near, "stays", 1);
    const ListPlace lost = push(near, std::string(5'000, 'l'), 2);  // its bytes are over there
    node_.lose_node(1);
    char room[8];
    EXPECT_EQ(here().make(2).failure().code(), Code::peer);
    EXPECT_EQ(here().size(far).failure().code(), Code::peer);
    EXPECT_EQ(here().move(Lists::end_of(far), stays).failure().code(), Code::peer);
    EXPECT_EQ(here().take(lost, room, sizeof room).failure().code(), Code::peer);
    EXPECT_EQ(here().size(near).value(), 2U);
    auto taken = here().take(stays, room, sizeof room);
    ASSERT_TRUE(taken.is_ok()) << taken.failure().message();
    EXPECT_EQ(std::string(room, 5), "stays");
    EXPECT_TRUE(here().clear(near, 10).is_ok()) << "this needs no bytes of the element";
    EXPECT_EQ(here().size(near).value(), 0U);
}

}  // namespace
}  // namespace acp::data::test
