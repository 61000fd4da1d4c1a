// SPDX-License-Identifier: BSD-3-Clause
// Issues and ends commands of layers.
#include "gma/layer_issuer.hpp"

#include <mutex>

#include "os/cancellation.hpp"

namespace acp::gma {

Handle LayerIssuer::issue(LayerCommand& command, Handle order) {
    const os::CancellationHold cancellation;  // it may wait for room
    parts_.service.ensure_or_say(rank_);
    const ServiceSleep::Stay stay(parts_.service_sleep, ServiceSleep::Stay::Kind::moment);
    CommandQueue& queue = parts_.commands.queue;
    std::unique_lock lock(parts_.commands.mutex);
    CommandQueue::Admission admission;
    for (;;) {
        if (queue.has_room()) admission = queue.admit(command.command(), order);
        if (admission.number != 0) break;
        parts_.completion.wait_for_oldest(lock);
    }
    parts_.progress.update_service_wish();
    if (admission.is_ready) {
        carrier_.begin_new(lock, admission.number, command);
        return admission.number;
    }
    const bool has_lapsed = !queue.is_outstanding(admission.number);
    lock.unlock();
    if (has_lapsed) command.lapse();
    return admission.number;
}

std::optional<bool> LayerIssuer::cancel(Handle handle) noexcept {
    const std::scoped_lock lock(parts_.commands.mutex);
    const CommandQueue& queue = parts_.commands.queue;
    if (!queue.is_outstanding(handle) || !queue.command(handle).is_of_layer()) return std::nullopt;
    return LayerCommand::of(queue.command(handle)).cancel();
}

bool LayerIssuer::poll() noexcept {
    const bool has_done = carrier_.poll();
    parts_.progress.leave_rest();
    return has_done;
}

}  // namespace acp::gma
