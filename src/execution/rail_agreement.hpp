// SPDX-License-Identifier: BSD-3-Clause
// The members of a plan that know their network agree on the rail of each parcel: each tells all what it would send by which rail, and all make
// the same choice of it (exchange/rail_choice.hpp). Collective, for the thread that compiles.
// Tests: tests/conformance/exchange_rails_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "team/team.hpp"

#include "execution/routes.hpp"
#include "execution/send_layout.hpp"

namespace acp::execution {

// What of a plan has a part in the agreement.
struct RailOffers {
    std::vector<std::uint32_t> parcels;  // by index in SendLayout::parcels
    std::uint32_t rails = 1;             // that engines of the network stand for
};

// Nothing is offered where no network is known, or there is one rail.
[[nodiscard]] RailOffers offers_of(const SendLayout& layout, const RailUse& rails);

// The rail of each parcel of the layout. False: the team is broken, and rail_of is as it was.
//   most_parcels, most_rails  of the offers of all members
//   rail_of                   in: by the own engines; out: by agreement
bool agree_on_rails(team::Team& team,
                    const SendLayout& layout,
                    const RailOffers& own,
                    std::uint64_t most_parcels,
                    std::uint32_t most_rails,
                    std::vector<std::uint32_t>& rail_of);

}  // namespace acp::execution
