// SPDX-License-Identifier: BSD-3-Clause
// Connects the queue with the layers above gma that carry out commands of their own
// (gma/layer_command.hpp). A command becomes ready when the commands have ended that it is ordered
// after; then a thread that makes progress takes it out of this list and calls
// LayerCommand::begin(), for one command at a time. Such a thread also polls the layers
// (gma/command_layer.hpp), which end their commands by LayerIssuer::end(), and calls
// LayerCommand::lapse() for commands whose order has failed, and which never begin. Threads that
// wait, the service thread, and threads of the layer make progress, the last ones while the program
// computes. This class does not know the actions of the commands.
// Any thread; append() under the lock of Commands, all others without it.
// Tests: tests/unit/gma/layer_carrier_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/status.hpp"
#include "gma/command_layer.hpp"
#include "gma/commands.hpp"
#include "gma/driver_role.hpp"
#include "gma/trace.hpp"

namespace acp::gma {

// The end of a command that has begun.
struct LayerEnd {
    std::uint64_t number = 0;
    base::Status status;
};

class LayerCarrier {
public:
    //   commands  must outlive this
    //   trace     records each command that begins; nullptr: there is none
    LayerCarrier(Commands& commands, Trace* trace) noexcept : commands_(commands), trace_(trace) {}

    // A layer comes or goes; other threads may poll.
    void add(CommandLayer& layer) noexcept;

    // None of its commands is outstanding. Calls lapse() of those for which it is due; no thread polls
    // the layer afterwards.
    void remove(CommandLayer& layer) noexcept;

    // Puts a ready command at the end.
    void append(std::uint64_t number) noexcept {
        commands_.queue.append(queued_, number);
        // seq_cst; partners: begin_ready(), whose holder of the role looks again, and
        // Progress::may_service_sleep() after the service thread announced its sleep
        count_.fetch_add(1, std::memory_order_seq_cst);
    }

    // Whether commands must begin or lapse. A thread sees its own; another thread that stored work
    // asks for itself.
    [[nodiscard]] bool has_work() const noexcept {
        return count_.load(std::memory_order_seq_cst) != 0 || !commands_.queue.lapsed().is_empty();
    }

    // Begins ready commands, unless another thread does, which then begins all. True when this
    // thread has begun some, or lapsed some.
    bool begin_ready() noexcept;

    // Begins a command that was just admitted and is ready, unless older ones must begin before it;
    // then appends it, and begins all.   lock  of Commands, which this releases
    void begin_new(std::unique_lock<std::mutex>& lock,
                   std::uint64_t number,
                   LayerCommand& command) noexcept;

    // begin_ready(), polls the layers, and begins what became ready by that. True when something was
    // done.
    bool poll() noexcept {
        const bool has_begun = has_work() && begin_ready();
        // relaxed: a layer has no commands in flight before it was added
        const bool has_ended = layers_in_use_.load(std::memory_order_relaxed) != 0 && poll_layers();
        if (has_ended && has_work()) begin_ready();
        return has_begun || has_ended;
    }

    // A thread sleeps next (CommandLayer::announce_sleep); it polls once more before.
    void announce_sleep() noexcept;

private:
    static constexpr std::size_t layers_max = 2;
    static constexpr std::size_t begun_at_once_max = 16;

    struct Begun {
        std::uint64_t number = 0;
        LayerCommand* command = nullptr;
    };

    std::size_t take(std::array<Begun, begun_at_once_max>& some);
    bool poll_layers() noexcept;
    void trace(const LayerCommand& command) noexcept;

    Commands& commands_;
    Trace* trace_;
    CommandList queued_;
    std::atomic<std::uint64_t> count_{0};  // length of queued_; written with the lock
    DriverRole<>
        beginning_;  // held by the thread that begins commands, so that they keep their order
    // Guards layers_; held while a thread polls them, so that remove() waits for that. Lock order:
    // this one, those of layers, that of Commands.
    std::mutex layers_mutex_;
    std::array<CommandLayer*, layers_max> layers_{};
    std::atomic<std::size_t> layers_in_use_{0};  // written with layers_mutex_
};

}  // namespace acp::gma
