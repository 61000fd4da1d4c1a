// SPDX-License-Identifier: BSD-3-Clause
// Copies to this node that have arrived in part: how many of their bytes have arrived, and how many
// have settled (are in place, or failed). A copy is complete when all have settled. Knows no
// placement and sends nothing. One thread.
// Tests: tests/unit/router/partial_copies_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/records.hpp"

namespace acp::router {

class PartialCopies {
public:
    // The state of a copy after one of its pieces has settled.
    struct SettledPiece {
        bool is_new_failure = false;  // this is the first piece that failed
        bool is_in_place = false;     // all pieces are in place
    };

    //   copies_max  the most copies at a time
    // Throws std::bad_alloc.
    PartialCopies(Activity& activity, std::uint32_t copies_max);

    // Counts a piece that arrived.
    //   is_full  set if there is no room for another copy; nothing was counted then
    [[nodiscard]] Fault arrive(NodeId from, const PutFrame& frame, bool& is_full);

    // Undoes arrive() for a piece that is refused and will be sent again.
    void take_back(const PutFrame& frame) noexcept;

    // Call when a piece has settled. Does nothing for a copy that was dropped.
    [[nodiscard]] SettledPiece settle(const OperationRecord& piece, bool is_ok) noexcept;

    // Forgets a copy, if it is known.
    void drop(std::uint32_t initiator, std::uint64_t token) noexcept;

    [[nodiscard]] std::uint32_t used() const noexcept { return partials_.used(); }

    // Calls see(copy) for each. It may drop the copy that it is given, and no other.
    template <typename See>
    void for_each(See see) {
        for (std::uint32_t index = 0; index < partials_.touched(); ++index) {
            if (partials_[index].is_taken) see(partials_[index]);
        }
    }

private:
    void release(std::uint32_t index) noexcept;

    Activity& activity_;
    Pool<Partial> partials_;
    Index<Partial> index_;
};

}  // namespace acp::router
