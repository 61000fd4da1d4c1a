// SPDX-License-Identifier: BSD-3-Clause
// Commands that wait for others, and that a gateway in this process may get before these have ended, for the
// node of the target keeps their order (ORD-66): short puts and invokes behind a few puts to the same
// process. All calls under the lock of Commands.
// Tests: tests/unit/gma/ahead_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gma/commands.hpp"
#include "gma/invokes.hpp"
#include "gma/routes.hpp"
#include "local/space.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class AheadCommands {
public:
    // How many commands, and how many bytes of them, the link took.
    struct Handed {
        std::uint64_t commands = 0;
        std::uint64_t bytes = 0;
    };

    // All must outlive this.
    //   link  one that keeps the order; nullptr: none does
    AheadCommands(Commands& commands,
                  const Invokes& invokes,
                  const Routes& routes,
                  const local::Space& space,
                  remote::Link* link) noexcept
        : commands_(commands), invokes_(invokes), routes_(routes), space_(space), link_(link) {}

    [[nodiscard]] bool has_link() const noexcept { return link_ != nullptr; }

    // Takes in a command that was just admitted with this order, which is not satisfied yet. False: it must wait.
    [[nodiscard]] bool collect(std::uint64_t number, Handle order) noexcept;

    // Hands commands that still wait to the link, after those that they wait for; the others were or will be
    // handed over as ready commands.
    [[nodiscard]] Handed hand_over();

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

    [[nodiscard]] bool is_full() const noexcept { return count_ == count_max; }

    // They fail with the commands that they wait for.
    void forget_all() noexcept { count_ = 0; }

private:
    static constexpr std::size_t count_max = 8;
    static constexpr std::uint64_t put_bytes_max = 512;
    // The most bytes of a copy that a put is sent behind. An invoke waits in the gateway until such a copy has
    // been sent; a put would be refused.
    static constexpr std::uint64_t leading_bytes_max = 8192;

    struct Ahead {
        std::uint64_t number = 0;
        AwaitedRun before;
    };

    [[nodiscard]] bool is_put_to(const Command& command,
                                 std::uint64_t process,
                                 std::uint64_t bytes_max) const noexcept;
    [[nodiscard]] bool hand_over(const Ahead& ahead);

    Commands& commands_;
    const Invokes& invokes_;
    const Routes& routes_;
    const local::Space& space_;
    remote::Link* link_;
    std::array<Ahead, count_max> ahead_{};
    std::size_t count_ = 0;
};

}  // namespace acp::gma
