// SPDX-License-Identifier: BSD-3-Clause
// List scheduling in which each piece loads two nodes. Any thread.
#include "exchange/rail_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace acp::exchange {

namespace {

// The choices of the sources are kept if the busiest rail has at most this much more: the sources'
// planners consider more than loads.
constexpr std::uint64_t kept_percent = 105;

// The bytes that each rail of each node sends and receives.
class RailLoads {
public:
    RailLoads(std::uint32_t nodes, std::uint32_t rails)
        : rails_(rails), sent_(std::size_t{nodes} * rails), received_(std::size_t{nodes} * rails) {}

    // The load of the busier end of a rail, without the piece.
    [[nodiscard]] std::uint64_t before(const OfferedPiece& piece,
                                       std::uint32_t rail) const noexcept {
        return std::max(sent_[at(piece.from, rail)], received_[at(piece.to, rail)]);
    }

    void add(const OfferedPiece& piece, std::uint32_t rail) noexcept {
        sent_[at(piece.from, rail)] += piece.bytes;
        received_[at(piece.to, rail)] += piece.bytes;
        most_ = std::max(most_, before(piece, rail));
    }

    // The load of the busiest rail of all nodes.
    [[nodiscard]] std::uint64_t most() const noexcept { return most_; }

private:
    [[nodiscard]] std::size_t at(ModelNode node, std::uint32_t rail) const noexcept {
        return std::size_t{node} * rails_ + rail;
    }

    std::uint32_t rails_;
    std::vector<std::uint64_t> sent_;
    std::vector<std::uint64_t> received_;
    std::uint64_t most_ = 0;
};

}  // namespace

std::vector<std::uint32_t> choose_rails(std::span<const OfferedPiece> pieces,
                                        std::uint32_t nodes,
                                        std::uint32_t rails) {
    RailLoads offered(nodes, rails);
    std::vector<std::uint32_t> kept;
    kept.reserve(pieces.size());
    for (const OfferedPiece& piece : pieces) {
        offered.add(piece, piece.rail);
        kept.push_back(piece.rail);
    }
    std::vector<std::uint32_t> order(pieces.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t first, std::uint32_t second) {
        return pieces[first].bytes > pieces[second].bytes;
    });
    RailLoads chosen(nodes, rails);
    std::vector<std::uint32_t> found(pieces.size());
    for (const std::uint32_t i : order) {
        std::uint32_t best = pieces[i].rail;  // preferred among equally good rails
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
            if (chosen.before(pieces[i], rail) < chosen.before(pieces[i], best)) best = rail;
        }
        chosen.add(pieces[i], best);
        found[i] = best;
    }
    return offered.most() * 100 <= chosen.most() * kept_percent ? kept : found;
}

}  // namespace acp::exchange
