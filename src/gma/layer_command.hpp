// SPDX-License-Identifier: BSD-3-Clause
// A command that a layer above gma carries out itself, such as a call of a function of a device.
// Gma gives the command a number, calls begin() when the commands have ended that it is ordered
// after, and treats its end like that of a copy. Gma does not know its action.
// Tests: tests/unit/gma/layer_carrier_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "memory/command.hpp"

namespace acp::gma {

// One command. The layer owns the object, which lives until the layer has ended the command
// (LayerIssuer::end), or until lapse().
class LayerCommand {
public:
    LayerCommand() = default;
    virtual ~LayerCommand() = default;
    LayerCommand(const LayerCommand&) = delete;
    LayerCommand& operator=(const LayerCommand&) = delete;

    // Starts the command and returns; the layer ends it later, or within this call. A thread that
    // makes progress, which may be the service thread, calls this once, without a lock of gma, after
    // the commands have ended that this one is ordered after. Gma calls it for one command at a
    // time, and for commands that become ready together in the order of their numbers.
    virtual void begin(std::uint64_t number) noexcept = 0;

    // A command that this one was ordered after has failed: it never begins, and its handle has
    // failed. The last call on the object, by any thread, without a lock of gma.
    virtual void lapse() noexcept = 0;

    // The call of the interface, for messages; static text.
    [[nodiscard]] virtual std::string_view call_name() const noexcept = 0;

    // Writes what a thread waits for that waits for this command, a part of a sentence; returns its
    // bytes. Called as cancel().
    virtual std::size_t describe(std::span<char> text) const noexcept = 0;

    // Asks the layer to end the command early. True: it does not run. Called under the lock of
    // Commands while the command is outstanding: takes no lock that another thread may hold while it
    // calls gma, and does not wait.
    virtual bool cancel() noexcept = 0;

    // The command in the queue.
    [[nodiscard]] memory::Command command() noexcept {
        memory::Command made;
        made.operation = memory::layer_operation;
        made.operand = reinterpret_cast<std::uintptr_t>(this);
        return made;
    }

    //   command  is_of_layer(), and outstanding
    [[nodiscard]] static LayerCommand& of(const memory::Command& command) noexcept {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): command() has put it there
        return *reinterpret_cast<LayerCommand*>(static_cast<std::uintptr_t>(command.operand));
    }

private:
    friend class LapsedCommands;
    LayerCommand* next_lapsed_ = nullptr;
};

// The commands that lapse() must be called for. Put in under the lock of Commands; taken out and
// asked for without it.
class LapsedCommands {
public:
    // relaxed: a thread that missed it is woken, or makes progress, after the lock was released
    [[nodiscard]] bool is_empty() const noexcept {
        return first_.load(std::memory_order_relaxed) == nullptr;
    }

    void add(LayerCommand& command) noexcept {
        command.next_lapsed_ = first_.load(std::memory_order_relaxed);
        // release; partner: lapse_all()
        first_.store(&command, std::memory_order_release);
    }

    // Calls lapse() of all. With the lock only the list is taken.
    static void lapse_all(LayerCommand* first) noexcept {
        while (first != nullptr) {
            LayerCommand* const next = first->next_lapsed_;
            first->lapse();
            first = next;
        }
    }

    // With the lock.
    [[nodiscard]] LayerCommand* take_all() noexcept {
        LayerCommand* const all = first_.load(std::memory_order_relaxed);
        first_.store(nullptr, std::memory_order_relaxed);
        return all;
    }

private:
    std::atomic<LayerCommand*> first_{nullptr};
};

}  // namespace acp::gma
