// SPDX-License-Identifier: BSD-3-Clause
// The bell on which the thread of a rank sleeps that ends calls of devices (call_thread.hpp). It lies
// in the node segment, since device processes have that mapped and ring it.
#pragma once

#include <cstdint>

#include "node/claims.hpp"
#include "node/member.hpp"
#include "sync/bell.hpp"

namespace acp::offload {

// Zero at the start of a job. Writers: as sync/bell.hpp.
inline constexpr node::ClaimedRange call_bell_range{
    .name = "bell of the thread that ends calls of devices",
    .bytes = [](const node::Shape&) -> std::uint64_t { return node::claim_alignment; },
    .has_address = false};

[[nodiscard]] inline sync::Bell<>& call_bell_of(const node::Member& member) noexcept {
    static_assert(sizeof(sync::Bell<>) <= node::claim_alignment);
    char* const place = member.segment().claimed(member.slot_index(), call_bell_range);
    return *reinterpret_cast<sync::Bell<>*>(place);
}

}  // namespace acp::offload
