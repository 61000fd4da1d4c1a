// SPDX-License-Identifier: BSD-3-Clause
// Lists up to the last byte of a heap, and lists whose words a program has overwritten: every call
// ends. The watchdog ends a call that retries without end.
#include <array>

#include "list_memory.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::list {
namespace {

using Plain = User<std::atomic>;

class ListBoundsTest : public testing::Test {
protected:
    SharedHeap shared_;
    SharedPages participants_{ListParticipants<std::atomic>::bytes(participants_max)};
    Plain user_{shared_, participants_.data(), 0, 16};
    test::ScopedWatchdog watchdog_{"a call on a list does not end"};
};

// The heap has room for nodes of one size class only, so that nodes fill its last bytes.
TEST_F(ListBoundsTest, every_node_of_a_full_heap_is_reached) {
    for (const std::uint64_t bytes : {0U, 1U, 8U, 9U, 24U, 25U, 40U, 56U, 57U, 100U}) {
        SCOPED_TRACE(bytes);
        const BlockNumber list = user_.make();
        const BlockNumber other = user_.make();
        const std::string text(bytes, 'x');
        std::uint64_t count = 0;
        std::uint64_t end = 0;
        for (Position at;; ++count) {
            const ListEffect effect = count % 3 == 0 ? user_.push_front(list, text)
                                      : count % 3 == 1
                                          ? user_.push_back(list, text)
                                          : user_.insert(list, user_.first(list), text, at);
            if (effect != ListEffect::done) {
                ASSERT_EQ(effect, ListEffect::no_room);
                break;
            }
        }
        ASSERT_EQ(user_.lists.size(list), count);
        Position at = SharedLists<>::end_of(list);
        for (std::uint64_t i = 0; i < count; ++i) {
            ASSERT_EQ(user_.lists.next(list, at, at), ListEffect::done);
            ASSERT_EQ(user_.text_at(list, at), text);
            end = std::max(end, offset_of(at.node) + shared_.heap.usable_bytes(offset_of(at.node)));
        }
        if (bytes <= 8) {
            EXPECT_EQ(end, shared_.heap.limit_bytes()) << "no node is at the end";
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            const Position first = user_.first(list);
            if (i % 3 == 0) {
                ASSERT_EQ(user_.lists.move(other, SharedLists<>::end_of(other), list, first, at),
                          ListEffect::done);
                ASSERT_EQ(user_.pop_front(other), text);
            } else {
                ASSERT_EQ(i % 3 == 1 ? user_.pop_front(list) : user_.pop_back(list), text);
            }
        }
        EXPECT_EQ(user_.lists.size(list), 0U);
        user_.destroy(list);
        user_.destroy(other);
        user_.lists.reclaim();
        EXPECT_EQ(shared_.blocks_in_use(), 0U);
    }
}

TEST_F(ListBoundsTest, no_number_leads_out_of_the_heap) {
    const BlockNumber list = user_.make();
    ASSERT_EQ(user_.push_back(list, "one"), ListEffect::done);
    const std::uint64_t blocks = shared_.heap.limit_bytes() / heap::granule_bytes;
    Position to;
    SharedLists<>::Taken taken;
    for (const std::uint64_t node :
         {~std::uint64_t{0}, ~std::uint64_t{0} - 1, blocks, blocks + 1}) {
        for (const std::uint64_t mark : {std::uint64_t{mark::live}, ~std::uint64_t{0} ^ 2}) {
            const Position at{node, mark};
            EXPECT_FALSE(user_.lists.is_list(node));
            EXPECT_EQ(user_.lists.take(list, at, taken), ListEffect::stale);
            EXPECT_EQ(user_.lists.next(list, at, to), ListEffect::stale);
            EXPECT_EQ(user_.insert(list, at, "two", to), ListEffect::stale);
            EXPECT_EQ(user_.text_at(list, at), "(none)");
        }
    }
    // A mark whose size exceeds the bytes behind its node.
    auto* const last = reinterpret_cast<std::uint64_t*>(shared_.blocks.data()) +
                       shared_.heap.limit_bytes() / 8 - 4;
    const Position made_up{number_of(shared_.heap.limit_bytes() - 32),
                           mark::of(mark::live, mark::shape(1'000, false), 1)};
    *last = made_up.mark;
    EXPECT_EQ(user_.text_at(list, made_up), "(none)");
    EXPECT_EQ(user_.texts(list), std::vector<std::string>{"one"});
    user_.destroy(list);
}

// Whether calls have reported the damage.
class Overwritten {
public:
    explicit Overwritten(Plain& user, BlockNumber list, BlockNumber other, const Position& at)
        : user_(user), list_(list), other_(other), at_(at) {}

    // Makes every call once. Returns how many have reported damage.
    std::uint32_t calls() {
        Position to;
        SharedLists<>::Taken taken;
        note(user_.lists.next(list_, SharedLists<>::end_of(list_), to));
        note(user_.lists.previous(list_, SharedLists<>::end_of(list_), to));
        note(user_.lists.next(list_, at_, to));
        note(user_.lists.previous(list_, at_, to));
        note(user_.insert(list_, at_, "new", to));
        note(user_.push_front(list_, "new"));
        note(user_.push_back(list_, "new"));
        note(user_.lists.move(other_, SharedLists<>::end_of(other_), list_, at_, to));
        note(user_.lists.move(list_, SharedLists<>::end_of(list_), list_, at_, to));
        note_taken(user_.lists.take(list_, at_, taken), taken);
        note_taken(user_.lists.take_first(list_, taken), taken);
        note_taken(user_.lists.take_last(list_, taken), taken);
        note(user_.lists.destroy(list_, ~std::uint64_t{0}, [](std::uint64_t) {}));
        return damaged_;
    }

private:
    void note(ListEffect effect) { damaged_ += effect == ListEffect::damaged ? 1 : 0; }

    void note_taken(ListEffect effect, const SharedLists<>::Taken& taken) {
        note(effect);
        if (effect == ListEffect::done) (void)user_.lists.settle(taken);
    }

    Plain& user_;
    BlockNumber list_;
    BlockNumber other_;
    Position at_;
    std::uint32_t damaged_ = 0;
};

// Words of a head and of an element are overwritten by valid words of lists and by invalid ones.
TEST(ListDamageTest, every_call_on_an_overwritten_list_ends) {
    const test::ScopedWatchdog watchdog("a call on a list does not end");
    const std::array<std::uint64_t, 9> values{0,
                                              ~std::uint64_t{0},
                                              link::to(number_mask, 3),
                                              link::to(1, 3),
                                              mark::of(mark::claimed, 0, mark::stamp_of(3)),
                                              mark::of(mark::tentative, 0, 7),
                                              turn::of(0xffff, 5),
                                              turn::of(1, 77),
                                              link::to(heap_shape.areas * 65'536, 9)};
    std::uint32_t damaged = 0;
    for (std::uint32_t field = 0; field < 5; ++field) {
        for (const bool is_head : {true, false}) {
            if (!is_head && field > 2) continue;
            for (const std::uint64_t value : values) {
                SCOPED_TRACE(testing::Message() << field << ' ' << is_head << ' ' << value);
                const SharedHeap shared;
                const SharedPages participants(
                    ListParticipants<std::atomic>::bytes(participants_max));
                Plain user(shared, participants.data(), 0, 16);
                const BlockNumber list = user.make();
                const BlockNumber other = user.make();
                for (const char* text : {"one", "two", "three"})
                    ASSERT_EQ(user.push_back(list, text), ListEffect::done);
                Position at;
                ASSERT_EQ(user.lists.next(list, user.first(list), at), ListEffect::done);
                reinterpret_cast<std::uint64_t*>(
                    user.blocks.base() + offset_of(is_head ? list : at.node))[field] = value;
                damaged += Overwritten(user, list, other, at).calls();
                EXPECT_EQ(user.push_back(other, "still"), ListEffect::done);
            }
        }
    }
    EXPECT_GT(damaged, 100U) << "list operations report damage";
}

TEST(ListDamageTest, a_scan_of_retired_elements_whose_links_are_overwritten_ends) {
    const test::ScopedWatchdog watchdog("a scan of retired elements does not end");
    for (const std::uint64_t value : {link::to(number_mask, 3), link::to(1, 3), std::uint64_t{0},
                                      link::to(heap_shape.areas * 65'536, 9)}) {
        for (const bool leads_to_itself : {false, true}) {
            const SharedHeap shared;
            const SharedPages participants(ListParticipants<std::atomic>::bytes(participants_max));
            Plain user(shared, participants.data(), 0, 16);
            const BlockNumber list = user.make();
            BlockNumber taken = 0;
            for (const char* text : {"one", "two", "three"}) {
                ASSERT_EQ(user.push_back(list, text), ListEffect::done);
                taken = user.first(list).node;
                ASSERT_EQ(user.pop_front(list), text);
            }
            reinterpret_cast<std::uint64_t*>(user.blocks.base() + offset_of(taken))[1] =
                leads_to_itself ? link::after(taken) : value;
            user.lists.reclaim();
            EXPECT_EQ(ListParticipants<std::atomic>({participants.data(), participants_max})[0]
                          .retired.load(),
                      0U);
            EXPECT_EQ(user.push_back(list, "still"), ListEffect::done);
        }
    }
}

TEST(ListDamageTest, a_turn_that_no_operation_ends_is_damage) {
    const test::ScopedWatchdog watchdog("a call on a list does not end");
    const SharedHeap shared;
    const SharedPages participants(ListParticipants<std::atomic>::bytes(participants_max));
    Plain user(shared, participants.data(), 0, 16);
    const BlockNumber list = user.make();
    ASSERT_EQ(user.push_back(list, "one"), ListEffect::done);
    const Position at = user.first(list);
    reinterpret_cast<std::uint64_t*>(user.blocks.base() + offset_of(list))[3] = turn::of(2, 9);
    SharedLists<>::Taken taken;
    EXPECT_EQ(user.push_back(list, "two"), ListEffect::damaged);
    EXPECT_EQ(user.push_front(list, "two"), ListEffect::damaged);
    EXPECT_EQ(user.lists.take(list, at, taken), ListEffect::damaged);
    EXPECT_EQ(user.lists.take_first(list, taken), ListEffect::damaged);
    EXPECT_EQ(user.lists.destroy(list, ~std::uint64_t{0}, [](std::uint64_t) {}),
              ListEffect::damaged);
    EXPECT_EQ(user.texts(list), std::vector<std::string>{"one"})
        << "operations that only read are allowed";
}

}  // namespace
}  // namespace acp::list
