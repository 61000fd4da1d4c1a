// SPDX-License-Identifier: BSD-3-Clause
// The condition that commands of this process end: those of the prefix of a number, or of the
// number alone. Any thread; one at a time uses one object.
// Tests: tests/unit/gma/gma_test.cpp.
#pragma once

#include <cstdint>

#include "gma/commands.hpp"
#include "gma/condition.hpp"

namespace acp::gma {

class CommandsEnd final : public Condition {
public:
    //   call  of fetch, wait_source and put_copied the number alone is waited for, of the others
    //         its prefix
    CommandsEnd(Commands& commands, std::uint64_t number, node::AwaitedCall call) noexcept
        : commands_(commands), number_(number), call_(call) {}

    LookResult look() override;

    // The command that was awaited first may have ended since.
    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override;

private:
    [[nodiscard]] bool has_come();

    [[nodiscard]] bool is_alone() const noexcept {
        return call_ == node::AwaitedCall::fetch || call_ == node::AwaitedCall::wait_source ||
               call_ == node::AwaitedCall::put_copied;
    }

    [[nodiscard]] std::uint64_t first_awaited() const;

    Commands& commands_;
    std::uint64_t number_;
    node::AwaitedCall call_;
};

}  // namespace acp::gma
