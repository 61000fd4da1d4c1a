// SPDX-License-Identifier: BSD-3-Clause
// Lists in the node segment: used by threads of several processes at once, with elements in the
// heaps of any of them, and recovered with the heap.
#include "allocator/node_lists.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "node/death.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

constexpr std::uint64_t heap_bytes = 16 * heap::area_bytes;

class NodeListsTest : public testing::Test {
protected:
    list::BlockNumber make() {
        NodeLists lists(heap_, 0);
        const list::BlockNumber list = lists->make();
        lists->keep();
        return list;
    }

    // Appends a text, with its bytes in the node or in the heap of a process.
    static void push(NodeLists& lists, list::BlockNumber list, const std::string& text) {
        list::Position made;
        ASSERT_EQ(lists->insert(list, list::SharedLists<>::end_of(list),
                                {{text.data(), text.size()}, false}, made),
                  list::ListEffect::done);
    }

    static std::uint64_t make_apart(NodeLists& lists,
                                    std::uint32_t process,
                                    const std::string& text) {
        char* const bytes =
            lists.blocks().allocate_apart(lists->made_apart(), process, text.size());
        EXPECT_NE(bytes, nullptr);
        std::memcpy(bytes, text.data(), text.size());
        return lists->made_apart().load(std::memory_order_relaxed);
    }

    static void push_apart(NodeLists& lists,
                           list::BlockNumber list,
                           std::uint32_t process,
                           const std::string& text) {
        const list::ApartPayload apart{make_apart(lists, process, text), text.size()};
        list::Position made;
        ASSERT_EQ(lists->insert(list, list::SharedLists<>::end_of(list),
                                {{&apart, sizeof apart}, true}, made),
                  list::ListEffect::done);
    }

    static std::string pop(NodeLists& lists, list::BlockNumber list) {
        list::SharedLists<>::Taken taken;
        if (lists->take_first(list, taken) != list::ListEffect::done) return "(none)";
        std::string text(taken.bytes, '\0');
        lists->read_taken(taken, text.data(), text.size());
        if (taken.is_apart) {
            list::ApartPayload apart;
            std::memcpy(&apart, text.data(), sizeof apart);
            text.assign(lists.blocks().find_apart(apart.address, apart.bytes), apart.bytes);
        }
        EXPECT_EQ(lists->settle(taken), 0U);
        return text;
    }

    [[nodiscard]] std::uint64_t blocks() {
        return heap_.usage(0).blocks + second_heap_.usage(0).blocks;
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner one_{node_, 0};
    local::test::Owner other_{node_, 1};
    NodeHeap heap_{one_.segment, 0, one_.hazards};
    NodeHeap second_heap_{one_.segment, 1, one_.hazards};
    NodeHeap of_other_{other_.segment, 0, other_.hazards};
};

TEST_F(NodeListsTest, are_the_same_for_all_processes_of_a_node) {
    const list::BlockNumber list = make();
    for (int i = 0; i < 1'000; ++i) {
        NodeLists lists(i % 2 == 0 ? heap_ : of_other_, static_cast<std::uint32_t>(i % 3));
        if (i % 5 == 0) {
            push_apart(lists, list, static_cast<std::uint32_t>(i / 5 % 2), std::to_string(i));
        } else {
            push(lists, list, std::to_string(i));
        }
    }
    for (int i = 0; i < 1'000; ++i) {
        NodeLists lists(i % 3 == 0 ? heap_ : of_other_, static_cast<std::uint32_t>(i % 2));
        ASSERT_EQ(pop(lists, list), std::to_string(i));
    }
    (void)NodeLists(of_other_, 0)->destroy(list, ~std::uint64_t{0}, [](std::uint64_t) {});
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(NodeListsTest, what_a_process_that_is_gone_held_is_freed) {
    const list::BlockNumber list = make();
    {
        NodeLists lists(of_other_, 0);
        for (int i = 0; i < 20; ++i) push(lists, list, std::to_string(i));
        for (int i = 0; i < 10; ++i) EXPECT_EQ(pop(lists, list), std::to_string(i));
        // The state that a killed process leaves: an element that it has taken out and not freed,
        // and blocks that it has just made, in this heap and in another one.
        list::SharedLists<>::Taken taken;
        ASSERT_EQ(lists->take_first(list, taken), list::ListEffect::done);
        (void)make_apart(lists, 1, "not linked yet");
        ASSERT_NE(lists->make(), 0U);
        EXPECT_EQ(heap_.usage(0).blocks, 1U + 20 + 1) << "it lives, and is in a call";
    }
    EXPECT_EQ(heap_.usage(0).blocks, 1U + 10 + 1) << "what it took out is freed by others";
    EXPECT_EQ(second_heap_.usage(0).blocks, 1U);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(second_heap_.usage(0).blocks, 0U) << "though its list is in another heap";
    EXPECT_EQ(heap_.usage(0).blocks, 1U + 9);
    NodeLists lists(heap_, 0);
    for (int i = 11; i < 20; ++i) EXPECT_EQ(pop(lists, list), std::to_string(i));
    EXPECT_EQ(pop(lists, list), "(none)");
}

TEST_F(NodeListsTest, bytes_in_another_heap_stay_while_a_process_recovers_that_heap) {
    {
        NodeHeap lists_heap(other_.segment, 1, other_.hazards);
        NodeLists lists(lists_heap, 0);
        (void)make_apart(lists, 0, "bytes");
    }
    node::mark_dead(node_, 1, 9);
    const heap::Control<> control(node_.claimed(0, heap_words),
                                  heap_words_of(node_.shape()).shape());
    auto& recoverer = control.cache(heap::caches_of(1).first).recoverer;
    // Process 0, which is alive.
    recoverer.store(1, std::memory_order_relaxed);
    EXPECT_EQ(heap_.usage(0).blocks, 1U);
    recoverer.store(0, std::memory_order_relaxed);
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

TEST_F(NodeListsTest, bytes_in_a_heap_of_another_node_are_left_to_the_caller) {
    const list::BlockNumber list = make();
    NodeLists lists(heap_, 0);
    const std::uint64_t elsewhere = apart_address(7, 12'345);
    EXPECT_EQ(process_of_apart(elsewhere), 7U);
    EXPECT_EQ(block_of_apart(elsewhere), 12'345U);
    EXPECT_EQ(lists.blocks().allocate_apart(lists->made_apart(), 7, 10), nullptr);
    EXPECT_EQ(lists.blocks().find_apart(elsewhere, 10), nullptr);
    const list::ApartPayload apart{elsewhere, 10};
    list::Position made;
    ASSERT_EQ(lists->insert(list, list::SharedLists<>::end_of(list), {{&apart, sizeof apart}, true},
                            made),
              list::ListEffect::done);
    list::SharedLists<>::Taken taken;
    ASSERT_EQ(lists->take_first(list, taken), list::ListEffect::done);
    EXPECT_EQ(lists->settle(taken), elsewhere);
}

}  // namespace
}  // namespace acp::allocator::test
