// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques of one user are compared with std::string, byte by byte; and calls without
// room.
#include <map>
#include <vector>

#include "sequence_memory.hpp"
#include "support/random.hpp"

namespace acp::sequence {
namespace {

class SequenceTest : public testing::TestWithParam<SequenceKind> {
protected:
    [[nodiscard]] BlockNumber make(std::uint64_t bytes, std::uint64_t capacity) {
        const BlockNumber made = user_.sequence.make(GetParam(), bytes, capacity);
        EXPECT_NE(made, 0U);
        user_.sequence.keep();
        return made;
    }

    [[nodiscard]] bool has_front() const { return GetParam() == SequenceKind::deque; }

    // Also reads by the addresses of the pieces.
    void expect_content(BlockNumber in, const std::string& content, const std::string& when) {
        EXPECT_TRUE(user_.read(in) == content) << when;
        const SequenceLayout layout = user_.layout(in, 0, ~std::uint64_t{0});
        EXPECT_EQ(layout.bytes, content.size()) << when;
        EXPECT_GE(layout.capacity, content.size()) << when;
        std::string by_address;
        for (const ContentPiece& piece : layout.pieces) {
            by_address.append(shared_.blocks.data() + piece.place, piece.bytes);
        }
        EXPECT_TRUE(by_address == content) << when;
    }

    void destroy(BlockNumber in) {
        EXPECT_TRUE(user_.sequence.destroy(in, GetParam()));
        EXPECT_EQ(shared_.blocks_in_use(), 0U);
    }

    SharedHeap shared_;
    SharedPages participants_{SequenceUsers<std::atomic>::bytes(participants_max)};
    User<std::atomic> user_{shared_, participants_.data(), 1};
};

std::string random_text(test::Random& random, std::uint64_t bytes_max) {
    std::string text(random.below(bytes_max + 1), '\0');
    for (char& byte : text) byte = static_cast<char>(random.next());
    return text;
}

TEST_P(SequenceTest, does_what_a_string_does) {
    test::Random random(11);
    for (std::uint64_t round = 0; round < 40; ++round) {
        const BlockNumber in = make(0, random.below(40));
        std::string model;
        const std::uint64_t bytes_max = round % 4 == 0 ? 3'000 : 30;
        for (int i = 0; i < 500 && !HasFailure(); ++i) {
            const std::string when =
                "round " + std::to_string(round) + ", operation " + std::to_string(i);
            const std::uint64_t at = random.below(model.size() + 3);
            const std::uint64_t in_content = std::min<std::uint64_t>(at, model.size());
            const std::uint64_t count = random.below(bytes_max);
            switch (random.below(10)) {
                case 0:
                case 1:
                case 2: {
                    const std::string text = random_text(random, bytes_max);
                    const bool is_front = has_front() && random.chance(50);
                    std::uint64_t index = 77;
                    EXPECT_EQ(
                        user_.sequence.push(in, is_front ? ContentEnd::front : ContentEnd::back,
                                            text.data(), text.size(), index),
                        SequenceEffect::done);
                    EXPECT_EQ(index, is_front ? 0 : model.size()) << when;
                    model.insert(is_front ? 0 : model.size(), text);
                    break;
                }
                case 3:
                case 4: {
                    const bool is_front = has_front() && random.chance(50);
                    const std::uint64_t taken = std::min<std::uint64_t>(count, model.size());
                    const std::uint64_t from = is_front ? 0 : model.size() - taken;
                    EXPECT_EQ(
                        user_.take(in, is_front ? ContentEnd::front : ContentEnd::back, count),
                        model.substr(from, taken))
                        << when;
                    model.erase(from, taken);
                    break;
                }
                case 5: {
                    const std::string text = random_text(random, bytes_max);
                    EXPECT_EQ(user_.insert(in, at, text), SequenceEffect::done);
                    model.insert(in_content, text);
                    break;
                }
                case 6:
                    EXPECT_EQ(user_.erase(in, at, count), SequenceEffect::done);
                    model.erase(in_content, count);
                    break;
                case 7:
                    EXPECT_EQ(user_.read(in, at, count), model.substr(in_content, count)) << when;
                    break;
                case 8: {
                    const std::string text = random_text(random, bytes_max);
                    EXPECT_EQ(user_.replace(in, at, count, text), SequenceEffect::done);
                    model.replace(in_content, count, text);
                    break;
                }
                default:
                    Portion removed;
                    EXPECT_EQ(user_.sequence.pop(in, {ContentEnd::back, nullptr, count}, removed),
                              SequenceEffect::done);
                    EXPECT_EQ(removed.bytes, std::min<std::uint64_t>(count, model.size())) << when;
                    EXPECT_EQ(removed.there, model.size()) << when;
                    model.resize(model.size() - removed.bytes);
            }
            if (i % 20 == 0) expect_content(in, model, when);
        }
        expect_content(in, model, "at last");
        destroy(in);
    }
}

TEST_P(SequenceTest, a_pop_removes_nothing_where_there_is_no_room_for_all) {
    const BlockNumber in = make(0, 0);
    EXPECT_EQ(user_.push(in, ContentEnd::back, "twelve bytes"), SequenceEffect::done);
    std::string target(12, '-');
    Portion portion;
    for (const std::uint64_t bytes : {12U, 100U}) {
        EXPECT_EQ(user_.sequence.pop(in, {ContentEnd::back, target.data(), bytes, 11}, portion),
                  SequenceEffect::done);
        EXPECT_EQ(portion.bytes, 0U);
        EXPECT_EQ(portion.there, 12U);
    }
    expect_content(in, "twelve bytes", "after pops without room");
    EXPECT_EQ(user_.sequence.pop(in, {ContentEnd::back, target.data(), 11, 11}, portion),
              SequenceEffect::done);
    EXPECT_EQ(portion.bytes, 11U);
    EXPECT_EQ(target, "welve bytes-");
    expect_content(in, "t", "at last");
    destroy(in);
}

TEST_P(SequenceTest, a_push_in_pieces_takes_effect_with_its_last_piece) {
    const BlockNumber in = make(0, 32);
    EXPECT_EQ(user_.push(in, ContentEnd::back, "......content"), SequenceEffect::done);
    if (has_front()) {
        EXPECT_EQ(user_.take(in, ContentEnd::front, 6), "......");
    } else {
        EXPECT_EQ(user_.erase(in, 0, 6), SequenceEffect::done);
    }
    const std::string text = "pushed in pieces, 24 b. ";
    const auto write = [&](std::uint64_t push, std::uint64_t at, std::uint64_t bytes,
                           bool replaces_another) {
        PushPiece piece;
        piece.end = has_front() ? ContentEnd::front : ContentEnd::back;
        piece.push = push;
        piece.version = user_.layout(in, 0, 0).version;
        piece.total = text.size();
        piece.at = at;
        piece.source = text.data() + at;
        piece.bytes = bytes;
        piece.replaces_another = replaces_another;
        Portion portion;
        const SequenceEffect effect = user_.sequence.push_in_pieces().write(in, piece, portion);
        if (effect == SequenceEffect::done && portion.bytes == text.size()) {
            EXPECT_EQ(portion.there, has_front() ? 0U : 7U);
        }
        return effect;
    };
    EXPECT_EQ(write(1, 5, 5, false), SequenceEffect::changed) << "it has not begun";
    EXPECT_EQ(write(1, 0, 5, false), SequenceEffect::done);
    EXPECT_EQ(write(2, 0, 5, false), SequenceEffect::busy);
    EXPECT_EQ(write(2, 0, 5, true), SequenceEffect::done);
    EXPECT_EQ(write(1, 5, 5, false), SequenceEffect::changed) << "another push replaced it";
    EXPECT_EQ(write(2, 10, 14, false), SequenceEffect::done);
    expect_content(in, "content", "before the last piece");
    EXPECT_EQ(write(2, 5, 6, false), SequenceEffect::changed) << "more bytes than the push has";
    EXPECT_EQ(write(2, 5, 5, false), SequenceEffect::done);
    const std::string whole = has_front() ? text + "content" : "content" + text;
    expect_content(in, whole, "after the last piece");
    EXPECT_EQ(write(3, 0, 5, false), SequenceEffect::changed) << "there is no room";
    EXPECT_EQ(user_.take(in, ContentEnd::back, 31), whole);
    EXPECT_EQ(write(3, 0, 5, false), SequenceEffect::done);
    EXPECT_EQ(user_.push(in, ContentEnd::back, "!"), SequenceEffect::done);
    EXPECT_EQ(write(3, 5, 5, false), SequenceEffect::changed) << "another change came between";
    expect_content(in, "!", "at last");
    destroy(in);
}

TEST_P(SequenceTest, begins_with_zeros_and_room) {
    const BlockNumber in = make(100, 0);
    expect_content(in, std::string(100, '\0'), "made");
    destroy(in);
    const BlockNumber empty = make(0, 1'000);
    expect_content(empty, "", "made");
    EXPECT_GE(user_.layout(empty, 0, 0).capacity, 1'000U);
    destroy(empty);
}

TEST_P(SequenceTest, grows_by_so_much_that_pushes_seldom_copy) {
    const BlockNumber in = make(0, 0);
    std::uint64_t capacity = user_.layout(in, 0, 0).capacity;
    int growths = 0;
    for (int i = 0; i < 100'000; ++i) {
        ASSERT_EQ(user_.push(in, ContentEnd::back, "1234567890"), SequenceEffect::done);
        const std::uint64_t now = user_.layout(in, 0, 0).capacity;
        growths += now != capacity ? 1 : 0;
        capacity = now;
    }
    EXPECT_LE(growths, 20);
    destroy(in);
}

TEST_P(SequenceTest, keeps_room_but_where_it_may_shrink) {
    const BlockNumber in = make(0, 0);
    std::uint64_t bytes = 0;
    Splice reserve;
    reserve.capacity_least = 10'000;
    EXPECT_EQ(user_.sequence.splice(in, reserve, bytes), SequenceEffect::done);
    EXPECT_GE(user_.layout(in, 0, 0).capacity, 10'000U);
    const std::uint64_t capacity = user_.layout(in, 0, 0).capacity;
    reserve.capacity_least = 50;
    EXPECT_EQ(user_.sequence.splice(in, reserve, bytes), SequenceEffect::done);
    EXPECT_EQ(user_.insert(in, 0, "text"), SequenceEffect::done);
    EXPECT_EQ(user_.erase(in, 1, 2), SequenceEffect::done);
    EXPECT_EQ(user_.layout(in, 0, 0).capacity, capacity);
    Splice assign;
    assign.removed = ~std::uint64_t{0};
    assign.source = "new";
    assign.added = 3;
    assign.may_shrink = true;
    EXPECT_EQ(user_.sequence.splice(in, assign, bytes), SequenceEffect::done);
    EXPECT_EQ(bytes, 2U);
    EXPECT_LT(user_.layout(in, 0, 0).capacity, 100U);
    expect_content(in, "new", "assigned");
    destroy(in);
}

TEST_P(SequenceTest, refuses_a_range_outside_where_it_must_fit) {
    const BlockNumber in = make(0, 0);
    EXPECT_EQ(user_.push(in, ContentEnd::back, "0123456789"), SequenceEffect::done);
    std::uint64_t bytes = 0;
    Splice write;
    write.source = "abc";
    write.removed = write.added = 3;
    write.must_fit = true;
    for (const std::uint64_t at : {std::uint64_t{8}, std::uint64_t{11}, ~std::uint64_t{0}}) {
        write.at = at;
        EXPECT_EQ(user_.sequence.splice(in, write, bytes), SequenceEffect::outside) << at;
        EXPECT_EQ(bytes, 10U);
    }
    write.at = 7;
    EXPECT_EQ(user_.sequence.splice(in, write, bytes), SequenceEffect::done);
    expect_content(in, "0123456abc", "written");
    destroy(in);
}

TEST_P(SequenceTest, a_full_heap_is_reported_and_changes_nothing) {
    for (std::int64_t left = 0; left < 2; ++left) {
        user_.blocks.set_allocations_left(left);
        EXPECT_EQ(user_.sequence.make(GetParam(), 10, 10), 0U);
        EXPECT_EQ(shared_.blocks_in_use(), 0U);
    }
    user_.blocks.set_allocations_left(-1);
    const BlockNumber in = make(0, 0);
    const std::string full(user_.layout(in, 0, 0).capacity, 'x');
    EXPECT_EQ(user_.push(in, ContentEnd::back, full), SequenceEffect::done);
    user_.blocks.set_allocations_left(0);
    EXPECT_EQ(user_.push(in, ContentEnd::back, "y"), SequenceEffect::no_room);
    EXPECT_EQ(user_.insert(in, 2, "y"), SequenceEffect::no_room);
    EXPECT_EQ(user_.erase(in, 2, 1), SequenceEffect::no_room);
    expect_content(in, full, "refused");
    EXPECT_EQ(user_.take(in, ContentEnd::back, 2), "xx");
    EXPECT_EQ(user_.push(in, ContentEnd::back, "yz"), SequenceEffect::done);
    EXPECT_EQ(user_.erase(in, full.size() - 2, 5), SequenceEffect::done) << "at the end";
    expect_content(in, full.substr(2), "without its end");
    EXPECT_EQ(user_.push(in, ContentEnd::back, "yz"), SequenceEffect::done);
    EXPECT_EQ(user_.others.asked(), 0U)
        << "an operation that found no room has made no other process wait";
    user_.blocks.set_allocations_left(-1);
    const std::string huge(heap_shape.areas * heap::area_bytes / 2, 'h');
    EXPECT_EQ(user_.push(in, ContentEnd::back, huge), SequenceEffect::done);
    EXPECT_EQ(user_.push(in, ContentEnd::back, huge), SequenceEffect::no_room);
    std::uint64_t index = 0;
    EXPECT_EQ(user_.sequence.push(in, ContentEnd::back, nullptr, ~std::uint64_t{0}, index),
              SequenceEffect::no_room);
    EXPECT_EQ(user_.sequence.make(GetParam(), ~std::uint64_t{0}, 0), 0U);
    EXPECT_EQ(user_.layout(in, 0, 0).bytes, full.size() + huge.size());
    destroy(in);
}

// A user that takes a sequence over from a dead one reads the operation word, is suspended, and
// reads the body's word much later: the 8 bits of its generation may have the same value again.
// That body is a later one, and must stay.
TEST_P(SequenceTest, a_late_taker_over_leaves_a_later_body_as_it_is) {
    constexpr std::uint32_t dead = 3;
    constexpr std::uint32_t late = 4;
    const BlockNumber in = make(8, 8);
    auto& head =
        *reinterpret_cast<SequenceHead<std::atomic>*>(shared_.blocks.data() + table::offset_of(in));
    const auto idle = OperationWord::unpacked(head.operation.load(std::memory_order_relaxed));
    head.operation.store(idle.as(TurnState::changing, dead).packed(), std::memory_order_relaxed);
    HeapBlocks<std::atomic> blocks(shared_, late);
    const SequenceGround<std::atomic> ground(blocks, user_.others,
                                             {participants_.data(), participants_max}, late);
    ContentView view;
    ASSERT_TRUE(ground.read(head, view));
    user_.others.set_dead(dead);
    int changes = 0;
    do {
        ASSERT_EQ(user_.replace(in, 0, 1, "x"), SequenceEffect::done);
        view.body_word = head.body.load(std::memory_order_relaxed);
        view.body = Named::unpacked(view.body_word);
    } while (view.body.generation() != view.operation.generation && ++changes < 1'000);
    ASSERT_EQ(view.body.generation(), view.operation.generation);
    EXPECT_TRUE(Reservation<std::atomic>(ground).take_over(head, view, true));
    EXPECT_EQ(head.body.load(std::memory_order_relaxed), view.body_word);
    EXPECT_EQ(user_.push(in, ContentEnd::back, "y"), SequenceEffect::done);
    destroy(in);
}

TEST_P(SequenceTest, what_is_destroyed_is_none) {
    const BlockNumber in = make(5, 5);
    const SequenceKind other = has_front() ? SequenceKind::vector : SequenceKind::deque;
    EXPECT_TRUE(user_.sequence.is_one(in, GetParam()));
    EXPECT_FALSE(user_.sequence.is_one(in, other));
    EXPECT_FALSE(user_.sequence.destroy(in, other));
    EXPECT_FALSE(user_.sequence.is_one(in + 1, GetParam()));
    destroy(in);
    EXPECT_FALSE(user_.sequence.is_one(in, GetParam()));
    EXPECT_FALSE(user_.sequence.destroy(in, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(kind,
                         SequenceTest,
                         testing::Values(SequenceKind::vector, SequenceKind::deque));

}  // namespace
}  // namespace acp::sequence
