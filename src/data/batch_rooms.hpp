// SPDX-License-Identifier: BSD-3-Clause
// Memory in which calls on many keys note their keys. It is kept from call to call: the C library
// might return it to the kernel each time, and the kernel's work for new pages then took a third of
// a call on 2048 keys. Any thread.
// Tests: tests/unit/data/batch_rooms_test.cpp, tests/conformance/hashed_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "data/table_calls.hpp"

namespace acp::data {

// One key of a call on many.
struct BatchItem {
    // Not defaulted: a vector would clear each element before constructing it.
    BatchItem() noexcept {}  // NOLINT

    Bytes key;
    Bytes value;                // insert, assign: what to store
    Room room;                  // find: receives the value
    std::uint64_t operand = 0;  // the addend
    EntryResult result;         // written
    bool is_done = false;       // written: whether `result` was
};

struct BatchRoom {
    struct Aimed {
        TablePlace place;
        BatchItem* item = nullptr;
    };

    std::vector<BatchItem> items;
    std::vector<Aimed> aimed;  // keys of one table are neighbours
    std::vector<Aimed> unsorted;
    std::vector<std::uint32_t> begins;  // start of each table's keys, during sorting
};

class BatchRooms {
public:
    static constexpr std::size_t kept_max = 16;

    BatchRooms() { kept_.reserve(kept_max); }

    // A room for one call.
    class Lease {
    public:
        // Throws std::bad_alloc.
        explicit Lease(BatchRooms& rooms) : rooms_(rooms), room_(rooms.take()) {}

        ~Lease() { rooms_.give_back(std::move(room_)); }

        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        [[nodiscard]] BatchRoom& room() noexcept { return *room_; }

    private:
        BatchRooms& rooms_;
        std::unique_ptr<BatchRoom> room_;
    };

private:
    std::unique_ptr<BatchRoom> take() {
        {
            const std::lock_guard guard(lock_);
            if (!kept_.empty()) {
                auto room = std::move(kept_.back());
                kept_.pop_back();
                return room;
            }
        }
        return std::make_unique<BatchRoom>();
    }

    void give_back(std::unique_ptr<BatchRoom> room) noexcept {
        const std::lock_guard guard(lock_);
        if (kept_.size() < kept_max) kept_.push_back(std::move(room));  // there is room: reserved
    }

    std::mutex lock_;
    std::vector<std::unique_ptr<BatchRoom>> kept_;
};

}  // namespace acp::data
