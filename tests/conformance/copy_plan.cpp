// SPDX-License-Identifier: BSD-3-Clause
// Runs and checks plans of copies.
#include "conformance/copy_plan.hpp"

#include <algorithm>
#include <sstream>

#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::byte untouched{0xee};

// Describes the first wrong byte of the owner's target; "" if there is none.
std::string first_difference(std::span<const std::byte> seen,
                             const std::vector<Piece>& pieces,
                             std::uint64_t round,
                             int source_owner) {
    std::vector<std::byte> wanted(seen.size(), untouched);
    std::vector<const Piece*> writers(seen.size(), nullptr);
    for (const Piece& piece : pieces) {
        for (std::size_t index = 0; index < piece.bytes; ++index) {
            wanted[piece.target + index] = pattern(round, source_owner, piece.source + index);
            writers[piece.target + index] = &piece;
        }
    }
    const auto [wrong, right] = std::mismatch(seen.begin(), seen.end(), wanted.begin());
    if (wrong == seen.end()) {
        return "";
    }
    const auto offset = static_cast<std::size_t>(wrong - seen.begin());
    std::ostringstream text;
    text << "byte " << offset << " of the target is " << std::to_integer<int>(*wrong) << ", not "
         << std::to_integer<int>(*right);
    if (const Piece* piece = writers[offset]; piece != nullptr) {
        text << ", in the copy of " << piece->bytes << " bytes from " << piece->source << " to "
             << piece->target;
    } else {
        text << ", outside every copy";
    }
    return text.str();
}

}  // namespace

std::string describe(const Roles& roles, Kind target, Kind source) {
    std::ostringstream text;
    text << name_of(source) << " of rank " << roles.source_owner << " -> " << name_of(target)
         << " of rank " << roles.target_owner << " by rank " << roles.initiator;
    return text.str();
}

std::vector<Roles> all_roles(int procs) {
    std::vector<Roles> result;
    const int ranks = std::min(procs, 3);
    for (int target_owner = 0; target_owner < ranks; ++target_owner) {
        for (int source_owner = 0; source_owner < ranks; ++source_owner) {
            result.push_back({0, target_owner, source_owner});
        }
    }
    return result;
}

bool is_reachable(const Roles& roles, Kind target, Kind source) {
    const bool is_target_foreign =
        target == Kind::registered && roles.target_owner != roles.initiator;
    const bool is_source_foreign =
        source == Kind::registered && roles.source_owner != roles.initiator;
    return mode().reaches_private_memory() || !(is_target_foreign || is_source_foreign);
}

void run_copies(const Roles& roles,
                const Arena& target,
                const Arena& source,
                const std::vector<Piece>& pieces) {
    static std::uint64_t round = 0;
    ++round;
    const int rank = acp_rank();
    if (rank == roles.target_owner) {
        std::ranges::fill(target.local(), untouched);
    }
    if (rank == roles.source_owner) {
        fill_pattern(source.local(), round, rank);
    }
    sync_ranks();
    if (rank == roles.initiator) {
        for (const Piece& piece : pieces) {
            const acp_handle_t handle =
                acp_copy(target.at(roles.target_owner, piece.target),
                         source.at(roles.source_owner, piece.source), piece.bytes, ACP_HANDLE_NULL);
            EXPECT_NE(handle, ACP_HANDLE_NULL);
        }
        expect_done(ACP_HANDLE_ALL);
    }
    sync_ranks();
    if (rank == roles.target_owner) {
        EXPECT_EQ(first_difference(target.local(), pieces, round, roles.source_owner), "");
    }
    sync_ranks();
}

}  // namespace acp::test
