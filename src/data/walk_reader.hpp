// SPDX-License-Identifier: BSD-3-Clause
// Entries of one table that lie behind a place, a message at a time: read by the calling thread where the table is mapped here, else
// by the gateway of the owner's node. One thread. Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/status.hpp"
#include "data/ask.hpp"
#include "gma/gma.hpp"

#include "allocator/table_operations.hpp"

namespace acp::data {

class WalkReader {
public:
    //   process  that has the table
    //   after    where the walk begins
    WalkReader(gma::Gma& gma,
               std::uint32_t process,
               const allocator::TableName& table,
               const table::WalkPlace& after) noexcept
        : gma_(&gma), process_(process), request_{table, after, 0} {}

    // Reads the next entries, one at the most if is_single. Blocks. Errors: stale, peer.
    base::Status fetch(bool is_single) {
        request_.is_single = is_single ? 1 : 0;
        auto status =
            ask(*gma_, {process_, allocator::table_walk_number,
                        std::as_bytes(std::span(&request_, 1)), std::span(room_), &bytes_});
        if (!status.is_ok()) return status;
        std::memcpy(&told_, room_.data(), sizeof told_);
        at_ = sizeof told_;
        left_ = told_.count;
        request_.after = told_.after;
        return status;
    }

    struct Entry {
        allocator::WalkedEntry head;
        std::span<const std::byte> key;    // empty unless head.has_bytes
        std::span<const std::byte> value;  // the same
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

    // Whether there may be entries behind those that were read.
    [[nodiscard]] bool has_more() const noexcept { return told_.has_more != 0; }

    [[nodiscard]] const table::WalkPlace& after() const noexcept { return request_.after; }

private:
    gma::Gma* gma_;
    std::uint32_t process_;
    allocator::WalkRequest request_;
    allocator::WalkResult told_;
    std::array<std::byte, memory::invoke_bytes_max> room_{};
    std::uint32_t bytes_ = 0;
    std::size_t at_ = 0;
    std::uint32_t left_ = 0;
};

}  // namespace acp::data
