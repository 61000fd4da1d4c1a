// SPDX-License-Identifier: BSD-3-Clause
// Lists of one thread: every operation is compared with std::list; stale positions, destroyed
// lists, and full heaps.
#include <algorithm>
#include <list>

#include "list_memory.hpp"
#include "support/random.hpp"

namespace acp::list {
namespace {

using Plain = User<std::atomic>;

// A list and its model: texts with their positions.
struct Modelled {
    struct Element {
        std::string text;
        Position at;
    };

    BlockNumber list = 0;
    std::list<Element> elements;

    // The model's element of this number; the end behind the last one.
    [[nodiscard]] std::list<Element>::iterator number(std::uint64_t which) {
        return std::next(elements.begin(), static_cast<std::ptrdiff_t>(which));
    }

    [[nodiscard]] Position position(const std::list<Element>::iterator& element) const {
        return element != elements.end() ? element->at : SharedLists<>::end_of(list);
    }

    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> all;
        for (const Element& element : elements) all.push_back(element.text);
        return all;
    }
};

class ListTest : public testing::Test {
protected:
    void expect_same(const Modelled& model) {
        const std::vector<std::string> all = model.texts();
        ASSERT_EQ(user_.texts(model.list), all);
        ASSERT_EQ(user_.texts(model.list, false),
                  std::vector<std::string>(all.rbegin(), all.rend()));
        ASSERT_EQ(user_.lists.size(model.list), all.size());
        for (const auto& element : model.elements)
            ASSERT_EQ(user_.text_at(model.list, element.at), element.text);
    }

    void step(test::Random& random, Modelled& one, Modelled& other, std::uint32_t number) {
        const std::string text = (random.chance(20) ? "@" : "") + std::to_string(number) +
                                 std::string(random.below(40), 'x');
        const std::uint64_t which = random.below(one.elements.size() + 1);
        const auto element = one.number(which);
        switch (random.below(7)) {
            case 0: {
                Modelled::Element added{text, {}};
                ASSERT_EQ(user_.insert(one.list, one.position(element), text, added.at),
                          ListEffect::done);
                one.elements.insert(element, added);
                return;
            }
            case 1:
                ASSERT_EQ(user_.push_front(one.list, text), ListEffect::done);
                one.elements.push_front({text, user_.first(one.list)});
                return;
            case 2:
                if (element == one.elements.end()) return;
                gone_.push_back(element->at);
                ASSERT_EQ(user_.take(one.list, element->at), element->text);
                one.elements.erase(element);
                return;
            case 3:
                ASSERT_EQ(user_.pop_front(one.list),
                          one.elements.empty() ? "" : one.elements.front().text);
                if (!one.elements.empty()) one.elements.pop_front();
                return;
            case 4:
                ASSERT_EQ(user_.pop_back(one.list),
                          one.elements.empty() ? "" : one.elements.back().text);
                if (!one.elements.empty()) one.elements.pop_back();
                return;
            case 5:
                return move(random, one, one, element);
            default:
                return move(random, other, one, element);
        }
    }

    void move(test::Random& random,
              Modelled& to,
              Modelled& from,
              const std::list<Modelled::Element>::iterator& element) {
        if (element == from.elements.end()) return;
        const auto before = to.number(random.below(to.elements.size() + 1));
        const Position was = element->at;
        ASSERT_EQ(user_.lists.move(to.list, to.position(before), from.list, was, element->at),
                  ListEffect::done);
        if (before != element) to.elements.splice(before, from.elements, element);
        if (&to == &from) return;
        ASSERT_EQ(user_.text_at(from.list, was), "(none)");
        ASSERT_EQ(user_.lists.move(to.list, to.position(before), from.list, was, stale_),
                  ListEffect::stale);
    }

    SharedHeap shared_;
    SharedPages participants_{ListParticipants<std::atomic>::bytes(participants_max)};
    Plain user_{shared_, participants_.data(), 0, 16};
    std::vector<Position> gone_;
    Position stale_;
};

TEST_F(ListTest, does_what_std_list_does) {
    for (std::uint64_t seed = 1; seed <= 40 && !HasFatalFailure(); ++seed) {
        SCOPED_TRACE(seed);
        test::Random random(seed);
        Modelled one{user_.make(), {}};
        Modelled other{user_.make(), {}};
        gone_.clear();
        for (std::uint32_t i = 0; i < 600 && !HasFatalFailure(); ++i) {
            step(random, random.chance(50) ? one : other, random.chance(50) ? one : other, i);
            if (i % 20 != 0) continue;
            expect_same(one);
            expect_same(other);
        }
        for (const Position& at : gone_) {
            SharedLists<>::Taken taken;
            EXPECT_NE(user_.lists.take(one.list, at, taken), ListEffect::done);
        }
        user_.destroy(one.list);
        user_.destroy(other.list);
        user_.lists.reclaim();
        EXPECT_EQ(shared_.blocks_in_use(), 0U);
    }
}

TEST_F(ListTest, a_position_ends_with_its_element) {
    const BlockNumber list = user_.make();
    const BlockNumber other = user_.make();
    Position first;
    Position second;
    ASSERT_EQ(user_.insert(list, SharedLists<>::end_of(list), "first", first), ListEffect::done);
    ASSERT_EQ(user_.insert(list, SharedLists<>::end_of(list), "second", second), ListEffect::done);
    EXPECT_EQ(user_.take(list, first), "first");
    Position to;
    SharedLists<>::Taken taken;
    EXPECT_EQ(user_.lists.take(list, first, taken), ListEffect::stale);
    EXPECT_EQ(user_.insert(list, first, "third", to), ListEffect::stale);
    EXPECT_EQ(user_.lists.next(list, first, to), ListEffect::stale);
    EXPECT_EQ(user_.lists.previous(list, first, to), ListEffect::stale);
    EXPECT_EQ(user_.lists.move(list, second, list, first, to), ListEffect::stale);
    EXPECT_EQ(user_.lists.move(list, first, list, second, to), ListEffect::stale);
    EXPECT_EQ(user_.text_at(list, first), "(none)");
    // Another element may reuse the node of the stale position.
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(user_.push_back(list, "more"), ListEffect::done);
        EXPECT_EQ(user_.lists.take(list, first, taken), ListEffect::stale);
        EXPECT_EQ(user_.pop_back(list), "more");
    }
    EXPECT_EQ(user_.lists.take(list, SharedLists<>::end_of(list), taken), ListEffect::end);
    EXPECT_EQ(user_.lists.move(list, second, list, SharedLists<>::end_of(list), to),
              ListEffect::end);
    EXPECT_EQ(user_.texts(list), std::vector<std::string>{"second"});
    EXPECT_EQ(user_.lists.size(list), 1U);
    user_.destroy(list);
    user_.destroy(other);
}

TEST_F(ListTest, a_destroyed_list_is_reported_and_no_address_is_followed) {
    const BlockNumber list = user_.make();
    ASSERT_EQ(user_.push_back(list, "one"), ListEffect::done);
    const Position at = user_.first(list);
    const BlockNumber other = user_.make();
    user_.destroy(list);
    Position to;
    SharedLists<>::Taken taken;
    for (const BlockNumber wrong : {list, BlockNumber{0}, list + 1, ~BlockNumber{0} >> 28}) {
        EXPECT_FALSE(user_.lists.is_list(wrong));
        EXPECT_EQ(user_.push_back(wrong, "two"), ListEffect::no_list);
        EXPECT_EQ(user_.push_back(wrong, "@two"), ListEffect::no_list);
        EXPECT_EQ(user_.push_front(wrong, "two"), ListEffect::no_list);
        EXPECT_EQ(user_.lists.take_first(wrong, taken), ListEffect::no_list);
        EXPECT_EQ(user_.lists.take_last(wrong, taken), ListEffect::no_list);
        EXPECT_EQ(user_.lists.take(wrong, at, taken), ListEffect::no_list);
        EXPECT_EQ(user_.lists.next(wrong, at, to), ListEffect::no_list);
        EXPECT_EQ(user_.lists.move(other, {other, 0}, wrong, at, to), ListEffect::no_list);
        EXPECT_EQ(user_.lists.move(wrong, {wrong, 0}, other, at, to), ListEffect::no_list);
        EXPECT_EQ(user_.lists.destroy(wrong, ~std::uint64_t{0}, [](std::uint64_t) {}),
                  ListEffect::no_list);
    }
    // Positions with invalid numbers.
    for (const BlockNumber wrong : {BlockNumber{0}, ~BlockNumber{0} >> 28}) {
        EXPECT_EQ(user_.lists.take(other, {wrong, 1}, taken), ListEffect::stale);
        EXPECT_EQ(user_.lists.next(other, {wrong, 1}, to), ListEffect::stale);
        EXPECT_EQ(user_.text_at(other, {wrong, 1}), "(none)");
    }
    user_.destroy(other);
    EXPECT_EQ(shared_.blocks_in_use(), 0U);
}

// A user that is stopped right after its insertion still names the node as made. Another user takes
// the element out. Its node stays allocated, since recovery would read it if the stopped user were
// killed.
TEST_F(ListTest, an_element_that_a_stopped_one_has_made_is_not_freed) {
    Plain other(shared_, participants_.data(), 1, 1);
    const BlockNumber list = user_.make();
    ASSERT_EQ(user_.push_back(list, "a"), ListEffect::done);
    const std::uint64_t blocks = shared_.blocks_in_use();
    const ListParticipants<std::atomic> all{participants_.data(), participants_max};
    all[2].made.store(table::made::of(user_.first(list).node) | table::made::filled,
                      std::memory_order_release);
    EXPECT_EQ(other.pop_front(list), "a");
    EXPECT_EQ(shared_.blocks_in_use(), blocks);
    EXPECT_TRUE(user_.lists.recover(2, [](std::uint32_t) { return false; }));
    ASSERT_EQ(user_.push_back(list, "b"), ListEffect::done);
    EXPECT_EQ(other.pop_front(list), "b");
    EXPECT_EQ(shared_.blocks_in_use(), blocks - 1) << "both are freed";
    user_.destroy(list);
}

TEST_F(ListTest, without_room_a_list_stays_as_it_is) {
    const BlockNumber list = user_.make();
    ASSERT_EQ(user_.push_back(list, "one"), ListEffect::done);
    for (const std::int64_t allocations : {0, 1}) {
        user_.blocks.allocations_left = allocations;
        EXPECT_EQ(user_.push_back(list, "@two"), ListEffect::no_room);
        user_.blocks.allocations_left = 0;
        EXPECT_EQ(user_.push_front(list, "two"), ListEffect::no_room);
        EXPECT_EQ(user_.lists.make(), 0U);
        EXPECT_EQ(user_.texts(list), std::vector<std::string>{"one"});
        EXPECT_EQ(user_.lists.size(list), 1U);
    }
    user_.blocks.allocations_left = -1;
    EXPECT_EQ(user_.pop_back(list), "one");
    user_.destroy(list);
    EXPECT_EQ(shared_.blocks_in_use(), 0U);
}

TEST_F(ListTest, bytes_that_cannot_be_freed_from_here_are_returned) {
    const BlockNumber list = user_.make();
    for (const char* text : {"@one", "@two", "three"})
        ASSERT_EQ(user_.push_back(list, text), ListEffect::done);
    user_.blocks.can_free_apart = false;
    SharedLists<>::Taken taken;
    ASSERT_EQ(user_.lists.take_first(list, taken), ListEffect::done);
    std::vector<std::uint64_t> left{user_.lists.settle(taken)};
    EXPECT_EQ(user_.lists.destroy(list, ~std::uint64_t{0},
                                  [&](std::uint64_t address) { left.push_back(address); }),
              ListEffect::done);
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(shared_.blocks_in_use(), 2U);
    for (const std::uint64_t address : left) user_.blocks.free(address);
    EXPECT_EQ(shared_.blocks_in_use(), 0U);
}

TEST_F(ListTest, an_element_costs_24_bytes_and_what_the_heap_rounds_up) {
    const BlockNumber list = user_.make();
    const std::uint64_t before = heap::usage_of(shared_.heap.control()).block_bytes;
    constexpr std::uint64_t count = 1'000;
    for (std::uint64_t i = 0; i < count; ++i)
        ASSERT_EQ(user_.push_back(list, std::string(40, 'x')), ListEffect::done);
    const std::uint64_t used = heap::usage_of(shared_.heap.control()).block_bytes - before;
    EXPECT_EQ(used, count * (40 + 24)) << "40 bytes and 24 are a multiple of 16";
    user_.destroy(list);
}

TEST(ListWords, no_word_that_an_operation_expects_is_zero) {
    EXPECT_NE(link::to(1, 0), 0U);
    EXPECT_NE(count::of(0, 0), 0U);
    EXPECT_EQ(count::elements_in(count::of(7, ~std::uint64_t{0})), 7U);
    EXPECT_EQ(count::elements_in(count::of(0, 3)), 0U);
    EXPECT_EQ(link::node_in(link::to(number_mask, ~std::uint64_t{0})), number_mask);
    EXPECT_EQ(link::to(number_mask, ~std::uint64_t{0}) & link::is_retired, 0U);
    EXPECT_EQ(turn::participant_in(turn::of(0xffff, 5)), 0xffffU);
    EXPECT_EQ(turn::number_in(turn::of(0xffff, 5)), 5U);
    EXPECT_FALSE(turn::is_busy(turn::next(turn::idle(9))));
    const std::uint64_t shape = mark::shape(mark::size_max, true);
    EXPECT_EQ(mark::bytes_in(mark::of(mark::live, shape, ~std::uint64_t{0})), mark::size_max);
    EXPECT_TRUE(mark::is_apart(mark::of(mark::claimed, shape, 0)));
    EXPECT_TRUE(mark::is_claimed_by(mark::of(mark::claimed, shape, mark::stamp_of(7)), 7));
    EXPECT_FALSE(mark::is_claimed_by(mark::of(mark::claimed, shape, mark::stamp_of(7)), 8));
    EXPECT_FALSE(mark::is_claimed_by(mark::of(mark::live, shape, mark::stamp_of(7)), 7));
    EXPECT_EQ(mark::kind_of(mark::of_list(12345)), mark::live);
}

}  // namespace
}  // namespace acp::list
