// SPDX-License-Identifier: BSD-3-Clause
// Reads the entries of one table behind a place, a buffer at a time: in the calling thread if the
// table is mapped here, else one message at a time from the gateway of the owner's node. One
// thread. Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/status.hpp"
#include "data/ask.hpp"
#include "data/table_calls.hpp"
#include "gma/gma.hpp"

#include "allocator/walked_entries.hpp"

namespace acp::data {

class WalkReader {
public:
    //   process  of the table's heap
    //   after    the place behind which the walk begins
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): `room_`
    WalkReader(gma::Gma& gma,
               std::uint32_t process,
               const allocator::TableName& table,
               const table::WalkPlace& after) noexcept
        : gma_(&gma), process_(process), request_{table, after} {}

    // The amount that is read next.
    struct Wish {
        std::uint32_t entries_max = 0;  // 0: any number
        bool wants_bytes = true;        // also keys and values
    };

    // Reads the next entries from another node. Blocks. Errors: stale, peer, system.
    base::Status fetch(const Wish& wish) {
        note(wish);
        const auto room = std::span(room_).first(message_bytes);
        auto status = ask(*gma_, {process_, allocator::table_walk_number,
                                  std::as_bytes(std::span(&request_, 1)), room, nullptr});
        if (status.is_ok()) open();
        if (status.code() == base::Code::system) return TableCalls::damage(request_.name.table);
        return status;
    }

    // Reads them from a table of this node. Errors: system (its words are overwritten).
    base::Status fetch_here(TableCalls::Here& here, const Wish& wish) {
        note(wish);
        const std::uint32_t bytes = allocator::write_walked_entries(
            here.tables(), here.table(), request_,
            [&](table::BlockNumber record) { return here.address(record); }, room_);
        if (bytes == 0) return TableCalls::damage(request_.name.table);
        open();
        return {};
    }

    struct Entry {
        allocator::WalkedEntry head;
        std::span<const std::byte> key;    // empty unless head.has_bytes
        std::span<const std::byte> value;  // empty unless head.has_bytes
    };

    // Takes one of the entries read. false: there are none left.
    [[nodiscard]] bool take(Entry& entry) noexcept {
        if (left_ == 0) return false;
        --left_;
        std::memcpy(&entry.head, room_.data() + at_, sizeof entry.head);
        at_ += sizeof entry.head;
        entry.key = entry.value = {};
        if (entry.head.has_bytes == 0) return true;
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
        told_.has_more = 1;
        request_.after = after;
    }

    // Whether there may be entries behind those that were read.
    [[nodiscard]] bool has_more() const noexcept { return told_.has_more != 0; }

    [[nodiscard]] const table::WalkPlace& after() const noexcept { return request_.after; }

private:
    // Some dozens of entries of usual size, within the first-level cache.
    static constexpr std::size_t room_bytes = 8192;

    void note(const Wish& wish) noexcept {
        request_.entries_max = wish.entries_max;
        request_.wants_bytes = wish.wants_bytes ? 1 : 0;
    }

    // Prepares the entries read for take().
    void open() noexcept {
        std::memcpy(&told_, room_.data(), sizeof told_);
        at_ = sizeof told_;
        left_ = told_.count;
        request_.after = told_.after;
    }

    gma::Gma* gma_;
    std::uint32_t process_;
    allocator::WalkRequest request_;
    allocator::WalkResult told_;
    std::array<std::byte, room_bytes> room_;  // NOLINT: written as far as read
    std::size_t at_ = 0;
    std::uint32_t left_ = 0;
};

}  // namespace acp::data
