// SPDX-License-Identifier: BSD-3-Clause
// Objects that a program names by handles: ends of channels, requests, teams and others. A handle of an object that was given back, of one
// of another kind, or of none, finds nothing. The objects are never destroyed before this, so that a thread that comes late with an old handle finds one that it can lock and
// look at. Handles are numbered on from one Slots to the next one of a process, so that no handle of an earlier one finds anything.
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

// The object's number plus 1 in the lower 21 bits, above them its SlotKind in 3 bits, above those how many handles were made before it; 0: none.
using SlotHandle = std::uint64_t;

inline constexpr SlotHandle no_slot = 0;
inline constexpr unsigned slot_index_bits = 21;
inline constexpr unsigned slot_kind_bits = 3;

// What a handle names, so that none passes for another one: a program has them in variables of types that are cast easily.
enum class SlotKind : std::uint8_t {
    none,
    channel,
    request,
    segbuf,
    team,
    pattern,
    plan,
    team_request
};

// What an object must have to stand in a slot. It is `handle` while it is in use, and 0 else. Written by Slots.
struct SlotEntry {
    std::atomic<SlotHandle> handle{no_slot};
    SlotHandle next = no_slot;  // what the handle becomes
    std::uint32_t index = 0;
};

// Of objects with a member `SlotEntry slot`, and a constant `SlotKind slot_kind` that no other class of objects has.
template <typename Object>
class Slots {
public:
    static constexpr std::uint32_t first_objects = 16;
    static constexpr std::uint32_t blocks_max = 16;  // each twice as long as the one before

    //   handles_made  handles_made() of the Slots before this one
    explicit Slots(std::uint64_t handles_made = 0) noexcept : handles_made_(handles_made) {}

    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;
    ~Slots() = default;

    // An object that nobody uses, and that no handle finds before show(); its content is what the last user left. nullptr: there are too
    // many. Throws std::bad_alloc.
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

    // Gives an object that was taken its handle.
    static SlotHandle show(Object& object) noexcept {
        // release: whoever finds the object by the handle sees it as it is now; partner: find()
        object.slot.handle.store(object.slot.next, std::memory_order_release);
        return object.slot.next;
    }

    // The handle of an object finds it no longer; it is not to be taken yet. For whoever holds the object's lock: who waits for that asks
    // is_still() then.
    static void hide(Object& object) noexcept {
        object.slot.handle.store(no_slot, std::memory_order_release);
    }

    // The object may be taken again, and its handle finds it no longer.
    void give_back(Object& object) noexcept {
        hide(object);
        const std::scoped_lock lock(mutex_);
        free_.push_back(&object);  // has room: see add_block()
    }

    // The object of a handle, as it was a moment ago; nullptr: there is none. Whoever needs to be sure locks the object, where it has a
    // lock, and asks is_still().
    [[nodiscard]] Object* find(SlotHandle handle) const noexcept {
        Object* const object = at(handle);
        return object != nullptr && is_still(*object, handle) ? object : nullptr;
    }

    // The object that a handle has named if it has named any, for whoever locks it and asks is_still() in any case. nullptr: it never has.
    [[nodiscard]] Object* at(SlotHandle handle) const noexcept {
        constexpr SlotHandle index_mask = (SlotHandle{1} << slot_index_bits) - 1;
        const std::uint64_t index = (handle & index_mask) - std::uint64_t{1};
        // The first block has all that most programs use.
        const std::uint64_t number = index < first_objects ? 0 : block_of(index);
        if (number >= blocks_max) return nullptr;
        // acquire: partner is add_block()
        Object* const block = blocks_[number].load(std::memory_order_acquire);
        return block == nullptr ? nullptr : &block[index - first_of(number)];
    }

    [[nodiscard]] static bool is_still(const Object& object, SlotHandle handle) noexcept {
        return object.slot.handle.load(std::memory_order_acquire) == handle;
    }

    // Calls call(object) with each object that is in use, or was a moment ago.
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

    // How many handles were made, by those before this too.
    [[nodiscard]] std::uint64_t handles_made() {
        const std::scoped_lock lock(mutex_);
        return handles_made_;
    }

private:
    // The block of the object of an index, and the index of a block's first object.
    [[nodiscard]] static constexpr std::uint64_t block_of(std::uint64_t index) noexcept {
        constexpr int first_width = std::bit_width(first_objects);
        // Of the index before 0, which a handle of nothing has, it is beyond all blocks.
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
