// SPDX-License-Identifier: BSD-3-Clause
// Sequences whose words a program has overwritten: every call ends, and fails if it reads words
// that contradict each other. The watchdog ends a call that retries without end.
#include <array>

#include "sequence_memory.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::sequence {
namespace {

using Plain = User<std::atomic>;

// A sequence with some content; one of its words is overwritten.
class Overwritten {
public:
    Overwritten() {
        EXPECT_EQ(user_.push(in_, ContentEnd::back, "what was there before"), SequenceEffect::done);
    }

    std::uint64_t* head() { return words(in_); }

    std::uint64_t* body() { return words(Named::unpacked(head()[2]).block); }

    // Makes every call once. Returns how many have reported damage.
    std::uint32_t calls() {
        std::uint32_t damaged = 0;
        const auto note = [&](SequenceEffect effect) {
            damaged += effect == SequenceEffect::damaged ? 1 : 0;
        };
        std::array<char, 100> target{};
        Portion portion;
        SequenceLayout layout;
        std::uint64_t before = 0;
        note(user_.sequence.read(in_, 0, target.data(), target.size(), portion));
        note(user_.sequence.layout(in_, 0, 100, layout));
        note(user_.sequence.pop(in_, {ContentEnd::back, target.data(), 2}, portion));
        note(user_.sequence.pop(in_, {ContentEnd::front, target.data(), 2}, portion));
        note(user_.push(in_, ContentEnd::back, "new"));
        note(user_.push(in_, ContentEnd::front, "new"));
        note(user_.insert(in_, 1, "new"));
        note(user_.erase(in_, 1, 1));
        note(user_.sequence.splice(in_, {.capacity_least = 1'000}, before));
        return damaged;
    }

    void expect_others_work() {
        const BlockNumber other = user_.sequence.make(SequenceKind::deque, 0, 0);
        user_.sequence.keep();
        EXPECT_EQ(user_.push(other, ContentEnd::back, "still"), SequenceEffect::done);
        EXPECT_EQ(user_.read(other), "still");
    }

    bool destroy() { return user_.sequence.destroy(in_, SequenceKind::deque); }

private:
    std::uint64_t* words(BlockNumber block) {
        return reinterpret_cast<std::uint64_t*>(user_.blocks.base() + table::offset_of(block));
    }

    SharedHeap shared_;
    SharedPages participants_{SequenceUsers<std::atomic>::bytes(participants_max)};
    Plain user_{shared_, participants_.data(), 0};
    BlockNumber in_ = user_.sequence.make(SequenceKind::deque, 0, 0);
};

OperationWord operation_of(TurnState state, std::uint32_t participant, std::uint32_t generation) {
    OperationWord operation;
    operation.state = state;
    operation.participant = participant;
    operation.generation = generation;
    operation.sequence = 3;
    return operation;
}

TEST(SequenceDamageTest, every_call_on_an_overwritten_sequence_ends) {
    const test::ScopedWatchdog watchdog("a call on a sequence does not end");
    const std::uint64_t last = heap_shape.areas * heap::area_bytes / heap::granule_bytes;
    const std::array<std::uint64_t, 13> values{
        0,
        1,
        ~std::uint64_t{0},
        std::uint64_t{1} << 40,
        operation_of(TurnState::idle, 0, 9).packed(),
        operation_of(TurnState::held, 3, 1).packed(),
        operation_of(TurnState::held, 0xffff, 1).packed(),
        operation_of(TurnState::changing, 2, 1).packed(),
        operation_of(TurnState::changing, 2, 0).packed(),
        operation_of(TurnState::evicting, 0xffff, 0).packed(),
        Named{0, last, 1}.packed(),
        Named{0, table::number_mask, 1}.packed(),
        Named{0, 1, 2}.packed()};
    std::uint32_t damaged = 0;
    for (const bool is_head : {true, false}) {
        for (std::uint32_t field = is_head ? 1 : 0; field < (is_head ? 3U : 6U); ++field) {
            for (const std::uint64_t value : values) {
                SCOPED_TRACE(testing::Message() << is_head << ' ' << field << ' ' << value);
                Overwritten sequence;
                (is_head ? sequence.head() : sequence.body())[field] = value;
                damaged += sequence.calls();
                sequence.expect_others_work();
            }
        }
    }
    EXPECT_GT(damaged, 200U) << "damage is reported";
}

TEST(SequenceDamageTest, a_body_of_another_number_is_damage) {
    const test::ScopedWatchdog watchdog("a call on a sequence does not end");
    Overwritten sequence;
    Named body = Named::unpacked(sequence.head()[2]);
    body.number += 5;
    sequence.head()[2] = body.packed();
    EXPECT_EQ(sequence.calls(), 9U);
    EXPECT_TRUE(sequence.destroy());
}

TEST(SequenceDamageTest, a_content_beyond_the_body_is_damage) {
    const test::ScopedWatchdog watchdog("a call on a sequence does not end");
    Overwritten sequence;
    sequence.body()[0] = std::uint64_t{1} << 35;
    EXPECT_EQ(sequence.calls(), 9U);
}

}  // namespace
}  // namespace acp::sequence
