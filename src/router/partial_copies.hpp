// SPDX-License-Identifier: BSD-3-Clause
// Copies to this node of which a part has come: how many of their bytes have arrived and how many are in place or have
// failed. A copy is whole when all are. Knows no placement and sends nothing. One thread.
// Tests: tests/unit/router/partial_copies_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/records.hpp"

namespace acp::router {

class PartialCopies {
public:
    // What the settling of a piece means for its copy.
    struct SettledPiece {
        bool is_new_failure = false;  // its first piece that failed
        bool is_in_place = false;     // all of it is, and no piece has failed
    };

    //   copies_max  at one time. Throws std::bad_alloc
    PartialCopies(Activity& activity, std::uint32_t copies_max);

    // Counts a piece in.   is_full  set when there is no room for another copy: nothing was counted
    [[nodiscard]] Fault arrive(NodeId from, const PutFrame& frame, bool& is_full);

    // A piece that was counted in is refused and will come again.
    void take_back(const PutFrame& frame) noexcept;

    // A piece is in place, or failed. Nothing for a copy that was given up.
    [[nodiscard]] SettledPiece settle(const OperationRecord& piece, bool is_ok) noexcept;

    // Gives a copy up, if there is one by this name.
    void drop(std::uint32_t initiator, std::uint64_t token) noexcept;

    [[nodiscard]] std::uint32_t used() const noexcept { return partials_.used(); }

    // Calls see(copy) for each. It may drop the copy it is shown, by its name, and no other.
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
