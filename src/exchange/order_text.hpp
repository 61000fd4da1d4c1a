// SPDX-License-Identifier: BSD-3-Clause
// The send order of a member's messages as the text of a saved plan. A text is valid only for the
// member, and the messages, that it was made for.
//     acp-plan 1
//     member 2 of 8
//     messages 14 0x8f3a0c51d2e67b94   count, and a digest of receivers and sizes
//     predicted 106.8 103.77           and the bound; 0 0: no network was known
//     engines 4                        of a node of the network; only if one was known
//     piece 3 0 224256 2               message, offset, bytes, engine if not 0; in send order
//     end
// The text has no further data about the network, so the two times are only compared with each
// other. Any text is read, or refused with the number of its line and the error. Pure; any thread.
// Tests: tests/unit/exchange/order_text_test.cpp, tests/fuzz/order.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "exchange/send_order.hpp"

namespace acp::exchange {

// The member and the messages that an order is for.
struct OrderOwner {
    std::uint32_t member = 0;
    std::uint32_t members = 0;
    std::span<const SentMessage> messages;
};

[[nodiscard]] std::string text_of(const SendOrder& order, const OrderOwner& owner);

// Errors: argument (it is no such text, or its pieces are not the messages), mismatch (it is for
// another member, a team of another size, or other messages).
[[nodiscard]] base::Result<SendOrder> order_from_text(std::string_view text,
                                                      const OrderOwner& owner);

}  // namespace acp::exchange
