// SPDX-License-Identifier: BSD-3-Clause
// Lets commands of layers begin, in order.
#include "gma/layer_carrier.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>

namespace acp::gma {

void LayerCarrier::add(CommandLayer& layer) noexcept {
    const std::scoped_lock lock(layers_mutex_);
    layers_.at(layers_in_use_.fetch_add(1, std::memory_order_relaxed)) = &layer;
}

void LayerCarrier::remove(CommandLayer& layer) noexcept {
    begin_ready();
    const std::scoped_lock lock(layers_mutex_);
    CommandLayer** const end = layers_.data() + layers_in_use_.load(std::memory_order_relaxed);
    if (std::remove(layers_.data(), end, &layer) != end)
        layers_in_use_.fetch_sub(1, std::memory_order_relaxed);
}

bool LayerCarrier::poll_layers() noexcept {
    bool has_ended = false;
    const std::scoped_lock lock(layers_mutex_);
    const std::size_t count = layers_in_use_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) has_ended = layers_[i]->poll() || has_ended;
    return has_ended;
}

void LayerCarrier::announce_sleep() noexcept {
    if (layers_in_use_.load(std::memory_order_relaxed) == 0) return;
    const std::scoped_lock lock(layers_mutex_);
    const std::size_t count = layers_in_use_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) layers_[i]->announce_sleep();
}

// Takes the oldest ready commands, and lapses those that are due. Returns how many it took.
std::size_t LayerCarrier::take(std::array<Begun, begun_at_once_max>& some) {
    LayerCommand* lapsed = nullptr;
    std::size_t taken = 0;
    {
        const std::scoped_lock lock(commands_.mutex);
        lapsed = commands_.queue.lapsed().take_all();
        while (taken < some.size() && !queued_.is_empty()) {
            const std::uint64_t number = commands_.queue.take_first(queued_);
            some[taken++] = {number, &LayerCommand::of(commands_.queue.command(number))};
        }
        count_.store(count_.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
    }
    LapsedCommands::lapse_all(lapsed);
    return taken;
}

bool LayerCarrier::begin_ready() noexcept {
    bool has_done = false;
    while (has_work()) {
        DriverRole<>::Hold hold(beginning_);
        if (!hold) break;  // its holder looks again after give()
        std::array<Begun, begun_at_once_max> some;
        const std::size_t taken = take(some);
        for (std::size_t i = 0; i < taken; ++i) {
            if (trace_ != nullptr) trace(*some[i].command);
            some[i].command->begin(some[i].number);
        }
        has_done = true;
        (void)hold.give();
    }
    return has_done;
}

void LayerCarrier::begin_new(std::unique_lock<std::mutex>& lock,
                             std::uint64_t number,
                             LayerCommand& command) noexcept {
    bool has_begun = false;
    if (queued_.is_empty()) {
        DriverRole<>::Hold hold(beginning_);
        if (hold) {
            lock.unlock();
            if (trace_ != nullptr) trace(command);
            command.begin(number);
            (void)hold.give();
            has_begun = true;
        }
    }
    if (!has_begun) {
        append(number);
        lock.unlock();
    }
    begin_ready();
}

void LayerCarrier::trace(const LayerCommand& command) noexcept {
    std::array<char, 64> text;  // NOLINT: written as far as read
    trace_->record_layer(std::string_view(text.data(), command.describe(text)));
}

}  // namespace acp::gma
