// SPDX-License-Identifier: BSD-3-Clause
// Handles of objects that are made and destroyed: each finds its own object and no other.
#include "message/slots.hpp"

#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace acp::message::test {
namespace {

struct Numbered {
    static constexpr SlotKind slot_kind = SlotKind::channel;
    SlotEntry slot;
    int number = 0;
};

struct Other {
    static constexpr SlotKind slot_kind = slot_kind_above<0>;
    SlotEntry slot;
};

Numbered* shown(Slots<Numbered>& slots) {
    Numbered* const object = slots.take();
    if (object != nullptr) slots.show(*object);
    return object;
}

TEST(SlotsTest, an_object_cannot_be_found_before_it_is_shown) {
    Slots<Numbered> slots;
    Numbered* const object = slots.take();
    const auto count = [&] {
        int met = 0;
        slots.for_each([&](const Numbered& /*object*/) { ++met; });
        return met;
    };
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(object->slot.handle.load(), no_slot);
    const SlotHandle handle = slots.show(*object);
    EXPECT_EQ(slots.find(handle), object);
    EXPECT_EQ(count(), 1);
    slots.give_back(*object);
    EXPECT_EQ(slots.take(), object);
    EXPECT_EQ(slots.find(handle), nullptr);
    EXPECT_EQ(count(), 0);
    slots.give_back(*object);  // it was never shown
    EXPECT_EQ(slots.take(), object);
}

TEST(SlotsTest, a_handle_of_another_kind_finds_nothing) {
    Slots<Numbered> slots;
    Slots<Other> others;
    const SlotHandle handle = slots.show(*slots.take());
    const SlotHandle other = others.show(*others.take());
    EXPECT_NE(handle, other);
    EXPECT_EQ(slots.find(other), nullptr);
    EXPECT_EQ(others.find(handle), nullptr);
}

TEST(SlotsTest, a_handle_finds_its_object_until_that_is_given_back) {
    Slots<Numbered> slots;
    std::vector<SlotHandle> handles;
    for (int i = 0; i < 200; ++i) {
        Numbered* const object = shown(slots);
        ASSERT_NE(object, nullptr);
        object->number = i;
        handles.push_back(object->slot.handle.load());
        EXPECT_NE(handles.back(), no_slot);
    }
    EXPECT_EQ(std::set<SlotHandle>(handles.begin(), handles.end()).size(), handles.size());
    for (int i = 0; i < 200; ++i) {
        Numbered* const object = slots.find(handles[static_cast<std::size_t>(i)]);
        ASSERT_NE(object, nullptr);
        EXPECT_EQ(object->number, i);
    }
    slots.give_back(*slots.find(handles[17]));
    EXPECT_EQ(slots.find(handles[17]), nullptr);
    Numbered* const next = shown(slots);
    EXPECT_EQ(next->number, 17) << "the object was taken again";
    EXPECT_EQ(slots.find(handles[17]), nullptr) << "under another handle";
    EXPECT_EQ(slots.find(next->slot.handle.load()), next);
}

TEST(SlotsTest, a_hidden_object_cannot_be_found_or_taken_until_it_is_given_back) {
    Slots<Numbered> slots;
    Numbered* const object = shown(slots);
    const SlotHandle handle = object->slot.handle.load();
    slots.hide(*object);
    EXPECT_EQ(slots.find(handle), nullptr);
    EXPECT_FALSE(slots.is_still(*object, handle));
    EXPECT_NE(slots.take(), object);
    slots.give_back(*object);
    EXPECT_EQ(slots.take(), object);
}

TEST(SlotsTest, what_is_no_handle_finds_nothing) {
    Slots<Numbered> slots;
    Numbered* const only = shown(slots);
    const SlotHandle handle = only->slot.handle.load();
    for (const SlotHandle wrong :
         {no_slot, handle + 1, handle + 64, handle + (SlotHandle{1} << slot_index_bits),
          handle << slot_index_bits, ~SlotHandle{0}, ~SlotHandle{0} - 1, SlotHandle{0xffffffff},
          SlotHandle{0xffffff}}) {
        EXPECT_EQ(slots.find(wrong), nullptr) << wrong;
    }
}

TEST(SlotsTest, a_handle_of_the_slots_before_finds_nothing) {
    std::vector<SlotHandle> old;
    std::uint64_t handles_made = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
        Slots<Numbered> slots(handles_made);
        std::vector<SlotHandle> own;
        for (int i = 0; i < 40; ++i) {
            Numbered* const object = shown(slots);
            for (const SlotHandle handle : old) EXPECT_EQ(slots.find(handle), nullptr) << handle;
            own.push_back(object->slot.handle.load());
            if (i % 3 == 0) slots.give_back(*object);
        }
        old.insert(old.end(), own.begin(), own.end());
        handles_made = slots.handles_made();
    }
}

TEST(SlotsTest, for_each_meets_those_in_use) {
    Slots<Numbered> slots;
    std::vector<Numbered*> taken;
    for (int i = 0; i < 100; ++i) {
        taken.push_back(shown(slots));
        taken.back()->number = i;
    }
    for (std::size_t i = 0; i < 100; i += 2) slots.give_back(*taken[i]);
    int count = 0;
    slots.for_each([&](const Numbered& object) {
        EXPECT_EQ(object.number % 2, 1);
        ++count;
    });
    EXPECT_EQ(count, 50);
}

TEST(SlotsTest, threads_take_different_objects) {
    Slots<Numbered> slots;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2'000; ++i) {
                Numbered* const object = shown(slots);
                const SlotHandle handle = object->slot.handle.load();
                const int before = ++object->number;
                EXPECT_EQ(slots.find(handle), object);
                EXPECT_EQ(object->number, before);
                slots.give_back(*object);
                EXPECT_NE(slots.find(handle), object);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acp::message::test
