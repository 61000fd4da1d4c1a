// SPDX-License-Identifier: BSD-3-Clause
// The order of a member's messages as the text of a saved plan, and back: only for the member, and the messages, that it was made for.
//     acp-plan 1
//     member 2 of 8
//     messages 14 0x8f3a0c51d2e67b94   how many are sent, and a digest of receivers and sizes
//     predicted 106.8 103.77           and the bound; 0 0 where no network was known
//     engines 4                        of a node of the network; not where none was known
//     piece 3 0 224256 2               message, where in it, bytes, engine if it is not 0: in the order in which they go
//     end
// Of the network the text says no more than that, so the two times are only held to each other. Whatever the text is, it is read, or refused with
// the number of its line and what is wrong there. Pure; any thread.
// Tests: tests/unit/exchange/order_text_test.cpp, tests/fuzz/order.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "exchange/send_order.hpp"

namespace acp::exchange {

// Whose order it is.
struct OrderOwner {
    std::uint32_t member = 0;
    std::uint32_t members = 0;
    std::span<const SentMessage> messages;
};

[[nodiscard]] std::string text_of(const SendOrder& order, const OrderOwner& owner);

// Errors: argument (it is not such a text, or its pieces are not the messages), mismatch (it is of another member, of a team of another size,
// or of other messages).
[[nodiscard]] base::Result<SendOrder> order_from_text(std::string_view text,
                                                      const OrderOwner& owner);

}  // namespace acp::exchange
