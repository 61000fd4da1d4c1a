// SPDX-License-Identifier: BSD-3-Clause
// The members of a plan that know their network agree on the rail of each parcel. All members
// gather all parcels with the rails that each would choose, and compute the same choice
// (exchange/rail_choice.hpp). Collective; called by the thread that compiles.
// Tests: tests/unit/execution/rail_agreement_test.cpp, tests/conformance/exchange_rails_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "team/team.hpp"

#include "execution/routes.hpp"
#include "execution/send_layout.hpp"

namespace acp::execution {

// What one member contributes to the agreement.
struct RailOffers {
    std::vector<std::uint32_t> parcels;  // indexes into SendLayout::parcels
    std::uint32_t rails = 1;             // the rails that the network's engines stand for
};

// Returns no parcels if no network is known or there is only one rail.
[[nodiscard]] RailOffers offers_of(const SendLayout& layout, const RailUse& rails);

// Chooses the rail of each parcel of the layout. False: the team is broken, and rail_of is
// unchanged.
//   most_parcels, most_rails  the largest offer among all members
//   rail_of                   in: the rails of the planned engines; out: the agreed rails
bool agree_on_rails(team::Team& team,
                    const SendLayout& layout,
                    const RailOffers& own,
                    std::uint64_t most_parcels,
                    std::uint32_t most_rails,
                    std::vector<std::uint32_t>& rail_of);

}  // namespace acp::execution
