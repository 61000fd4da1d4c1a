// SPDX-License-Identifier: BSD-3-Clause
// Issues commands that a layer above gma carries out itself (gma/layer_command.hpp), and ends them
// when the layer says so. The issuing thread begins a command that waits for no other one; a thread
// that makes progress begins the rest.
// Any thread outside of signal handlers, without a lock of gma.
// Tests: tests/unit/gma/layer_carrier_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gma/issuer.hpp"
#include "gma/layer_carrier.hpp"

namespace acp::gma {

class LayerIssuer {
public:
    //   parts  may be constructed after this; must outlive it
    //   trace  as LayerCarrier's
    //   rank   of this process, for messages
    LayerIssuer(const Issuer::Parts& parts, Trace* trace, std::uint32_t rank) noexcept
        : parts_(parts), carrier_(parts.commands, trace), rank_(rank) {}

    // For Progress.
    [[nodiscard]] LayerCarrier& carrier() noexcept { return carrier_; }

    void add(CommandLayer& layer) noexcept { carrier_.add(layer); }

    void remove(CommandLayer& layer) noexcept { carrier_.remove(layer); }

    // Issues a command; its handle. Waits while there is no room for a command, as Issuer does. If
    // the order has failed the handle is a failed one, and lapse() was called.
    Handle issue(LayerCommand& command, Handle order);

    // Ends commands that have begun. Wakes the threads that wait for them, and those that work on
    // the commands that become ready.
    //   ends  the statuses are moved from
    void end(std::span<LayerEnd> ends) noexcept { parts_.progress.end_of_layer(ends); }

    // LayerCommand::cancel() of the command of a handle. nullopt: it has ended, or the handle is that
    // of another command.
    [[nodiscard]] std::optional<bool> cancel(Handle handle) noexcept;

    // Polls once, for a thread of the layer: begins commands, and ends those that are over. True when
    // something was done.
    bool poll() noexcept;

private:
    Issuer::Parts parts_;
    LayerCarrier carrier_;
    std::uint32_t rank_;
};

}  // namespace acp::gma
