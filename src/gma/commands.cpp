// SPDX-License-Identifier: BSD-3-Clause
// The ends of commands with loans.
#include "gma/commands.hpp"

#include <bit>

namespace acp::gma {

// The loan first: when the command has ended, a get's bytes are in the caller's memory.
void Commands::finish_with_loans(std::uint64_t number, base::Status status) noexcept {
    if (queue.is_outstanding(number) && queue.command(number).loan() != 0) {
        local_ends.on_end(queue.command(number), status.is_ok());
    }
    queue.finish(number, std::move(status), ready);
    take_lapsed_loans();
}

void Commands::give_back_lapsed() noexcept {
    const LoanTally::Set lapsed = queue.loans().take_lapsed();
    for (std::uint32_t word = 0; word < lapsed.size(); ++word) {
        for (std::uint64_t bits = lapsed[word]; bits != 0; bits &= bits - 1) {
            local_ends.give_back(64 * word + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
}

}  // namespace acp::gma
