// SPDX-License-Identifier: BSD-3-Clause
// The ranges that the layers of this library claim in the node segment (node/claims.hpp). The
// process that makes a segment passes them to it; a rank that opens it checks that it would place
// them alike. A layer adds its ranges in library_claims.cpp. Pure; any thread.
#pragma once

#include "node/claims.hpp"

namespace acp::claims {

[[nodiscard]] node::ClaimedRanges library_claims() noexcept;

}  // namespace acp::claims
