// SPDX-License-Identifier: BSD-3-Clause
// A plan in words, for people: what goes to and comes from each partner, what it takes, how good the order is, and how fast rails were. Pure; any thread.
// Tests: tests/conformance/exchange_test.cpp.
#pragma once

#include <string>

#include "exchange/send_order.hpp"

#include "execution/rail_balance.hpp"
#include "execution/routes.hpp"

namespace acp::execution {

[[nodiscard]] std::string explain(const PlanRoutes& routes,
                                  const exchange::SendOrder& order,
                                  const RailBalance& balance);

}  // namespace acp::execution
