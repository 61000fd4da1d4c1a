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
    enum class AwaitedPart {
        prefix,  // all commands up to the number
        alone    // the command of the number
    };

    //   what  room, command or result, for diagnostics
    CommandsEnd(Commands& commands,
                std::uint64_t number,
                AwaitedPart part,
                node::WaitFor what) noexcept
        : commands_(commands), number_(number), part_(part), what_(what) {}

    LookResult look() override;

    // The command that was awaited first may have ended since.
    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override;

private:
    [[nodiscard]] bool has_come();

    [[nodiscard]] bool is_alone() const noexcept { return part_ == AwaitedPart::alone; }

    [[nodiscard]] std::uint64_t first_awaited() const;

    Commands& commands_;
    std::uint64_t number_;
    AwaitedPart part_;
    node::WaitFor what_;
};

}  // namespace acp::gma
