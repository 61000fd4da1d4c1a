// SPDX-License-Identifier: BSD-3-Clause
// Lists the ranges of all layers, from the lowest layer to the highest.
#include "claims/library_claims.hpp"

#include <array>

#include "dsm/page_counters.hpp"
#include "gma/fetch_words.hpp"
#include "gma/local_ends.hpp"
#include "message/pairing.hpp"
#include "offload/call_bell.hpp"
#include "offload/own_devices.hpp"
#include "team/board.hpp"

#include "allocator/heap_claims.hpp"
#include "pm/node_host.hpp"

namespace acp::claims {

namespace {

constexpr std::array<const node::ClaimedRange*, 12> ranges{
    &allocator::heap_words,    &allocator::table_users,
    &allocator::list_users,    &allocator::sequence_users,
    &gma::fetched_words,       &gma::local_ends_range,
    &message::channel_map,     &pm::pm_pools,
    &team::world_board,        &dsm::page_counters_range,
    &offload::call_bell_range, &offload::device_registers_range};

}  // namespace

node::ClaimedRanges library_claims() noexcept {
    return ranges;
}

}  // namespace acp::claims
