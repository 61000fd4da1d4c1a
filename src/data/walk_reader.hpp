// SPDX-License-Identifier: BSD-3-Clause
// Reads the entries of one table behind a place, as many at a time as one operation returns
// (allocator::WalkEntries). One thread. Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "data/table_calls.hpp"

namespace acp::data {

class WalkReader {
public:
    //   tables, place  outlive this
    //   after          the place behind which the walk begins
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): `room_`
    WalkReader(TableCalls& tables, const TablePlace& place, const table::WalkPlace& after) noexcept
        : tables_(tables), place_(place), result_{after, 0, 1} {}

    // The amount that is read next.
    struct Wish {
        std::uint32_t entries_max = 0;  // 0: any number
        bool wants_bytes = true;        // also keys and values
    };

    // Reads the next entries. Errors: those of TableCalls.
    base::Status fetch(const Wish& wish) {
        at_ = left_ = 0;
        auto walked = tables_.run<allocator::WalkEntries>(
            place_,
            {{{place_.table, place_.id}, after(), wish.entries_max, wish.wants_bytes ? 1U : 0U},
             {},
             room_});
        if (!walked.is_ok()) return std::move(walked).failure();
        result_ = walked.value().output;
        left_ = result_.count;
        return {};
    }

    struct Entry {
        allocator::WalkedEntry head;
        std::span<const std::byte> key;    // empty unless head.has_bytes()
        std::span<const std::byte> value;  // empty unless head.has_bytes()
    };

    // Takes one of the entries read. false: there are none left.
    [[nodiscard]] bool take(Entry& entry) noexcept {
        if (left_ == 0) return false;
        --left_;
        std::memcpy(&entry.head, room_.data() + at_, sizeof entry.head);
        at_ += sizeof entry.head;
        entry.key = entry.value = {};
        if (!entry.head.has_bytes()) return true;
        const std::span<const std::byte> all(room_);
        entry.key = all.subspan(at_, entry.head.key_bytes);
        at_ += entry.head.key_bytes;
        entry.value = all.subspan(at_, entry.head.value_bytes);
        at_ += entry.head.value_bytes;
        return true;
    }

    // Discards the entries read, and continues behind this place.
    void go_back(const table::WalkPlace& after) noexcept {
        left_ = 0;
        result_ = {after, 0, 1};
    }

    // Whether there may be entries behind those that were read.
    [[nodiscard]] bool has_more() const noexcept { return result_.has_more != 0; }

    [[nodiscard]] const table::WalkPlace& after() const noexcept { return result_.after; }

private:
    // Some dozens of entries of usual size, within the first-level cache.
    static constexpr std::size_t room_bytes = 8192;

    TableCalls& tables_;
    const TablePlace& place_;
    allocator::WalkResult result_;
    std::array<std::byte, room_bytes> room_;  // NOLINT: written as far as read
    std::size_t at_ = 0;
    std::uint32_t left_ = 0;
};

}  // namespace acp::data
