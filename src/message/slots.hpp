// SPDX-License-Identifier: BSD-3-Clause
// Objects that a program names by handles: ends of channels, requests, teams and others. A handle
// finds nothing if its object was given back, if it is of another kind, or if it never named one.
// Objects are not destroyed before the Slots, so a thread with an old handle finds an object that
// it can lock and check. Handles of successive Slots of a process continue one numbering, so a
// handle of an earlier one finds nothing.
// Any thread.
// Tests: tests/unit/message/slots_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace acp::message {

// The lower 21 bits: the object's index plus 1. The next 3 bits: its SlotKind. Above: how many
// handles were made before. 0: none.
using SlotHandle = std::uint64_t;

inline constexpr SlotHandle no_slot = 0;
inline constexpr unsigned slot_index_bits = 21;
inline constexpr unsigned slot_kind_bits = 3;

// The kind of object that a handle names. A handle of one kind finds no object of another, for a
// program easily casts one to the other. The layers above take the kinds from `above` on, each its
// own.
enum class SlotKind : std::uint8_t { none, channel, request, segbuf, above };

// The number-th kind of the layers above, of which no two take the same.
template <std::uint8_t number>
requires(static_cast<unsigned>(SlotKind::above) + number <
         1U << slot_kind_bits) inline constexpr auto slot_kind_above =
    static_cast<SlotKind>(static_cast<std::uint8_t>(SlotKind::above) + number);

// The member by which Slots manages an object. `handle` is 0 while the object is not in use.
// Written by Slots.
struct SlotEntry {
    std::atomic<SlotHandle> handle{no_slot};
    SlotHandle next = no_slot;  // the handle that show() publishes
    std::uint32_t index = 0;
};

// For objects with a member `SlotEntry slot` and a constant `SlotKind slot_kind` that no other
// class of objects has.
template <typename Object>
class Slots {
public:
    static constexpr std::uint32_t first_objects = 16;
    // each has twice as many objects as the one before
    static constexpr std::uint32_t blocks_max = 16;
    static constexpr std::uint32_t objects_max = first_objects * ((1U << blocks_max) - 1);

    //   handles_made  handles_made() of the Slots before this one
    explicit Slots(std::uint64_t handles_made = 0) noexcept : handles_made_(handles_made) {}

    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;
    ~Slots() = default;

    // Takes an unused object, which no handle finds before show(); its content is left from its
    // last use. nullptr: too many objects. Throws std::bad_alloc.
    [[nodiscard]] Object* take() {
        const std::scoped_lock lock(mutex_);
        if (free_.empty() && !add_block()) return nullptr;
        Object* const object = free_.back();
        free_.pop_back();
        constexpr auto kind = static_cast<SlotHandle>(Object::slot_kind);
        object->slot.next = (++handles_made_ << slot_kind_bits | kind) << slot_index_bits |
                            (object->slot.index + 1);
        return object;
    }

    // Publishes the handle of an object that was taken.
    static SlotHandle show(Object& object) noexcept {
        // release: publishes the object's content; partner: find()
        object.slot.handle.store(object.slot.next, std::memory_order_release);
        return object.slot.next;
    }

    // From now on the handle does not find the object, which cannot be taken yet. The caller holds
    // the object's lock; a thread that waits for the lock must check is_still() afterwards.
    static void hide(Object& object) noexcept {
        object.slot.handle.store(no_slot, std::memory_order_release);
    }

    // Returns an object, which may be taken again; its handle does not find it any longer.
    void give_back(Object& object) noexcept {
        hide(object);
        const std::scoped_lock lock(mutex_);
        free_.push_back(&object);  // has room: see add_block()
    }

    // The object of a handle; nullptr: none. The object may be given back at any time: to use it,
    // lock it and check is_still().
    [[nodiscard]] Object* find(SlotHandle handle) const noexcept {
        Object* const object = at(handle);
        return object != nullptr && is_still(*object, handle) ? object : nullptr;
    }

    // The object at a handle's index, if one exists, without a check of the handle: the caller
    // locks it and checks is_still(). nullptr: there never was such an object.
    [[nodiscard]] Object* at(SlotHandle handle) const noexcept {
        constexpr SlotHandle index_mask = (SlotHandle{1} << slot_index_bits) - 1;
        const std::uint64_t index = (handle & index_mask) - std::uint64_t{1};
        // The first block is enough for most programs.
        const std::uint64_t number = index < first_objects ? 0 : block_of(index);
        if (number >= blocks_max) return nullptr;
        // acquire: partner is add_block()
        Object* const block = blocks_[number].load(std::memory_order_acquire);
        return block == nullptr ? nullptr : &block[index - first_of(number)];
    }

    [[nodiscard]] static bool is_still(const Object& object, SlotHandle handle) noexcept {
        return object.slot.handle.load(std::memory_order_acquire) == handle;
    }

    // Calls call(object) for each object in use; the object may be given back at the same time.
    template <typename Call>
    void for_each(const Call& call) const {
        for (std::uint32_t number = 0; number < blocks_max; ++number) {
            Object* const objects = blocks_[number].load(std::memory_order_acquire);
            if (objects == nullptr) return;
            for (std::uint32_t i = 0; i < first_objects << number; ++i) {
                if (objects[i].slot.handle.load(std::memory_order_acquire) != no_slot)
                    call(objects[i]);
            }
        }
    }

    // How many handles were made, by earlier Slots too.
    [[nodiscard]] std::uint64_t handles_made() {
        const std::scoped_lock lock(mutex_);
        return handles_made_;
    }

private:
    // The block of an object's index, and the first index of a block.
    [[nodiscard]] static constexpr std::uint64_t block_of(std::uint64_t index) noexcept {
        constexpr int first_width = std::bit_width(first_objects);
        // For index -1 (a handle of 0) the result is beyond all blocks.
        return static_cast<std::uint64_t>(std::bit_width(index + first_objects) - first_width);
    }

    [[nodiscard]] static constexpr std::uint64_t first_of(std::uint64_t number) noexcept {
        return (std::uint64_t{first_objects} << number) - first_objects;
    }

    static_assert((first_objects << blocks_max) < 1U << slot_index_bits);

    bool add_block() {
        const auto number = static_cast<std::uint32_t>(owned_.size());
        if (number == blocks_max) return false;
        const std::uint32_t count = first_objects << number;
        auto block = std::make_unique<Object[]>(count);
        owned_.reserve(number + 1);
        free_.reserve(first_of(number + 1));
        for (std::uint32_t i = count; i-- > 0;) {
            block[i].slot.index = static_cast<std::uint32_t>(first_of(number)) + i;
            free_.push_back(&block[i]);
        }
        blocks_[number].store(block.get(), std::memory_order_release);
        owned_.push_back(std::move(block));
        return true;
    }

    std::array<std::atomic<Object*>, blocks_max> blocks_{};
    std::mutex mutex_;
    std::uint64_t handles_made_;
    std::vector<std::unique_ptr<Object[]>> owned_;
    std::vector<Object*> free_;
};

}  // namespace acp::message
