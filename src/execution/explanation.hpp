// SPDX-License-Identifier: BSD-3-Clause
// Describes a plan as text: the messages to and from each partner, the heap bytes it takes, the
// predicted time of its order, and the learned rates of its rails. Pure; any thread. Tests:
// tests/unit/execution/explanation_test.cpp, tests/conformance/exchange_test.cpp.
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
