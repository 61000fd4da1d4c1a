// SPDX-License-Identifier: BSD-3-Clause
// One gather, after which each member computes the same choice.
#include "execution/rail_agreement.hpp"

#include <algorithm>
#include <cstddef>

#include "exchange/rail_choice.hpp"
#include "team/collectives.hpp"

#include "operations/put_signal.hpp"

namespace acp::execution {

namespace {

// A parcel as every member sees it; bytes == 0: no parcel.
struct Offer {
    std::uint64_t bytes = 0;
    std::uint32_t receiver = 0;
    std::uint32_t rail = 0;
};

}  // namespace

RailOffers offers_of(const SendLayout& layout, const RailUse& rails) {
    RailOffers offers;
    if (rails.engines == 0 || rails.rails == 1) return offers;
    offers.rails = std::min(rails.engines, rails.rails);
    for (std::uint32_t i = 0; i < layout.parcels.size(); ++i) {
        const LaidParcel& parcel = layout.parcels[i];
        // a short parcel takes rail 0
        if (parcel.bytes <= operations::put_signal_bytes_max) continue;
        offers.parcels.push_back(i);
    }
    return offers;
}

bool agree_on_rails(team::Team& team,
                    const SendLayout& layout,
                    const RailOffers& own,
                    std::uint64_t most_parcels,
                    std::uint32_t most_rails,
                    std::vector<std::uint32_t>& rail_of) {
    if (most_parcels == 0 || most_rails == 1) return true;
    const team::Membership& members = team.members();
    std::vector<Offer> told(most_parcels);
    for (std::size_t i = 0; i < own.parcels.size(); ++i) {
        const LaidParcel& parcel = layout.parcels[own.parcels[i]];
        told[i] = {parcel.bytes, layout.receivers[parcel.receiver].rank,
                   rail_of[own.parcels[i]] % most_rails};
    }
    std::vector<Offer> all(most_parcels * members.size());
    if (!team::all_gather(team, reinterpret_cast<const char*>(told.data()),
                          reinterpret_cast<char*>(all.data()), most_parcels * sizeof(Offer))) {
        return false;
    }
    std::vector<exchange::OfferedPiece> pieces;
    std::size_t first_own = 0;
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (rank == members.own()) first_own = pieces.size();
        for (std::uint64_t i = 0; i < most_parcels; ++i) {
            const Offer& offer = all[rank * most_parcels + i];
            if (offer.bytes == 0) break;
            pieces.push_back(
                {members.node_of(rank), members.node_of(offer.receiver), offer.bytes, offer.rail});
        }
    }
    const auto chosen = exchange::choose_rails(pieces, members.nodes(), most_rails);
    for (std::size_t i = 0; i < own.parcels.size(); ++i)
        rail_of[own.parcels[i]] = chosen[first_own + i];
    return true;
}

}  // namespace acp::execution
