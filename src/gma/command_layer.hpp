// SPDX-License-Identifier: BSD-3-Clause
// The commands of one layer above gma (gma/layer_command.hpp), as threads that make progress see
// them: they poll the layer, and it ends the commands that are over.
// Tests: tests/unit/gma/layer_carrier_test.cpp.
#pragma once

namespace acp::gma {

class CommandLayer {
public:
    CommandLayer() = default;
    virtual ~CommandLayer() = default;
    CommandLayer(const CommandLayer&) = delete;
    CommandLayer& operator=(const CommandLayer&) = delete;

    // Ends the commands that are over (LayerIssuer::end); true when there was one. Called often, by
    // any thread, without a lock of gma: cheap while none is over, and does not wait.
    virtual bool poll() noexcept = 0;

    // A thread of this process is about to sleep on the waiter bell of its slot, on which it has
    // announced itself: the process that ends a command of this layer rings that bell from now on,
    // and the next poll() finds each command that was over before.
    virtual void announce_sleep() noexcept = 0;
};

}  // namespace acp::gma
