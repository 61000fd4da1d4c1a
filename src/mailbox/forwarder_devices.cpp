// SPDX-License-Identifier: BSD-3-Clause
// The steps. Each one finds its memory anew, so that nothing is begun on memory that was freed.
#include "mailbox/forwarder_devices.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "local/direct.hpp"

namespace acp::mailbox {

using base::Code;
using device::Device;
using device::Ticket;

void ForwarderDevices::open(DeviceHost& host, std::uint32_t slot_bytes) {
    slot_bytes_ = (slot_bytes + 63U) & ~63U;
    staging_.resize(chunk_count * chunk_bytes + std::uint64_t{slot_count} * slot_bytes_);
    host_ = &host;
}

Device* ForwarderDevices::device_of(const local::Place& place) const noexcept {
    return host_ != nullptr && is_own(place) ? host_->device(place.device) : nullptr;
}

char* ForwarderDevices::memory_of(std::uint32_t chunk) noexcept {
    return staging_.data() + chunk * chunk_bytes;
}

bool ForwarderDevices::is_locked(const Device* device) const noexcept {
    for (std::uint32_t chunk = 0; chunk < chunk_count; ++chunk) {
        if ((atomics_ >> chunk & 1U) != 0 && chunks_[chunk].device == device) return true;
    }
    return false;
}

std::uint32_t ForwarderDevices::take_chunk() noexcept {
    for (std::uint32_t chunk = 0; chunk < chunk_count; ++chunk) {
        if (chunks_[chunk].device == nullptr) return chunk;
    }
    return none;
}

void ForwarderDevices::give_chunk(PieceCopy& copy) noexcept {
    atomics_ &= ~(1U << copy.chunk);
    chunks_[copy.chunk] = {};
    copy.chunk = none;
}

void ForwarderDevices::abandon(PieceCopy& copy) noexcept {
    if (copy.chunk == none) return;
    atomics_ &= ~(1U << copy.chunk);
    chunks_[copy.chunk].is_abandoned = true;
    copy.chunk = none;
}

// After an engine's copy was asked for: a chunk is in use from then on if it has begun.
ForwarderDevices::DeviceStep ForwarderDevices::begun(PieceCopy& copy,
                                                     std::uint32_t chunk,
                                                     base::Result<Ticket> ticket,
                                                     Blame blame,
                                                     AccessVerdict& verdict) {
    if (ticket.is_ok()) {
        chunks_[chunk].ticket = ticket.value();
        copy.chunk = chunk;
        return DeviceStep::advanced;
    }
    const Code code = ticket.failure().code();
    chunks_[chunk] = {};
    copy.chunk = none;
    if (code == Code::limit) return DeviceStep::waiting;  // the engine has copies_max
    verdict = {code, blame, 0};
    return DeviceStep::ended;
}

// Whether the engine has ended the copy's present step: ready. The engine is polled.
ForwarderDevices::DeviceStep ForwarderDevices::await(PieceCopy& copy,
                                                     Blame blame,
                                                     AccessVerdict& verdict) noexcept {
    const Chunk& chunk = chunks_[copy.chunk];
    if (!chunk.device->has_ended(chunk.ticket)) chunk.device->poll();
    if (chunk.device->has_ended(chunk.ticket)) return DeviceStep::ready;
    if (!chunk.device->is_lost()) return DeviceStep::waiting;
    verdict = {Code::system, blame, 0};
    return DeviceStep::ended;
}

ForwarderDevices::DeviceStep ForwarderDevices::begin_move(PieceCopy& copy,
                                                          const local::Place& target,
                                                          const local::Place& source,
                                                          AccessVerdict& verdict) {
    Device* const to = device_of(target);
    Device* const from = device_of(source);
    const bool is_unknown =
        (target.is_device() && to == nullptr) || (source.is_device() && from == nullptr);
    if (is_unknown) {  // registers, which are for requests alone
        verdict = {Code::unsupported,
                   to == nullptr && target.is_device() ? Blame::target : Blame::source, 0};
        return DeviceStep::ended;
    }
    const std::uint32_t index = to != nullptr && is_locked(to) ? none : take_chunk();
    if (index == none) return DeviceStep::waiting;
    const std::uint64_t bytes = std::min(copy.bytes - copy.done, chunk_bytes);
    Chunk& chunk = chunks_[index];
    if (to != nullptr && to == from) {
        chunk = {to, 0, copy.done, copy.bytes, false, false};
        return begun(copy, index,
                     to->copy_inside(target.owner_address, source.owner_address, copy.bytes),
                     Blame::target, verdict);
    }
    if (from != nullptr) {
        chunk = {from, 0, copy.done, bytes, true, false};
        return begun(copy, index,
                     from->copy_out(memory_of(index), source.owner_address + copy.done, bytes),
                     Blame::source, verdict);
    }
    chunk = {to, 0, copy.done, bytes, false, false};
    local::move_bytes(memory_of(index), source.direct + copy.done, bytes);
    return begun(copy, index,
                 to->copy_in(target.owner_address + copy.done, memory_of(index), bytes),
                 Blame::target, verdict);
}

ForwarderDevices::DeviceStep ForwarderDevices::move(PieceCopy& copy,
                                                    const local::Place& target,
                                                    const local::Place& source,
                                                    AccessVerdict& verdict) {
    if (copy.chunk == none) return begin_move(copy, target, source, verdict);
    const bool is_out = chunks_[copy.chunk].is_out;
    const DeviceStep step = await(copy, is_out ? Blame::source : Blame::target, verdict);
    if (step != DeviceStep::ready) return step;
    Chunk& chunk = chunks_[copy.chunk];
    if (is_out && target.is_device()) {  // the bytes move from one device to another one
        Device* const to = device_of(target);
        if (to == nullptr || is_locked(to)) {
            verdict = {Code::unsupported, Blame::target, 0};
            return to == nullptr ? DeviceStep::ended : DeviceStep::waiting;
        }
        const std::uint32_t index = std::exchange(copy.chunk, none);
        chunk = {to, 0, copy.done, chunk.bytes, false, false};
        const DeviceStep next =
            begun(copy, index,
                  to->copy_in(target.owner_address + copy.done, memory_of(index), chunk.bytes),
                  Blame::target, verdict);
        return next == DeviceStep::waiting ? DeviceStep::advanced
                                           : next;  // then it is read once more
    }
    if (is_out) {
        local::move_bytes(target.direct + copy.done, memory_of(copy.chunk), chunk.bytes);
    }
    memory_.note_moved({memory::Operation::copy, 0, copy.target + copy.done,
                        copy.source + copy.done, chunk.bytes, 0, 0},
                       target, copy.origin);
    copy.done += chunk.bytes;
    give_chunk(copy);
    return copy.done < copy.bytes ? DeviceStep::advanced : DeviceStep::ended;
}

ForwarderDevices::DeviceStep ForwarderDevices::begin_read(PieceCopy& copy,
                                                          const local::Place& source,
                                                          AccessVerdict& verdict) {
    Device* const from = device_of(source);
    if (from == nullptr) {
        verdict = {Code::unsupported, Blame::source, 0};
        return DeviceStep::ended;
    }
    const std::uint32_t index = take_chunk();
    if (index == none) return DeviceStep::waiting;
    const std::uint64_t bytes = std::min(copy.bytes - copy.done, chunk_bytes);
    chunks_[index] = {from, 0, copy.done, bytes, true, false};
    return begun(copy, index,
                 from->copy_out(memory_of(index), source.owner_address + copy.done, bytes),
                 Blame::source, verdict);
}

ForwarderDevices::DeviceStep ForwarderDevices::read(PieceCopy& copy,
                                                    const local::Place& source,
                                                    std::span<const char>& ready,
                                                    AccessVerdict& verdict) {
    if (copy.chunk == none) return begin_read(copy, source, verdict);
    const DeviceStep step = await(copy, Blame::source, verdict);
    if (step != DeviceStep::ready) return step;
    const Chunk& chunk = chunks_[copy.chunk];
    const std::uint64_t sent = copy.done - chunk.begin;
    ready = {memory_of(copy.chunk) + sent, chunk.bytes - sent};
    return DeviceStep::ready;
}

void ForwarderDevices::note_sent(PieceCopy& copy) noexcept {
    const Chunk& chunk = chunks_[copy.chunk];
    if (copy.done == chunk.begin + chunk.bytes) give_chunk(copy);
}

ForwarderDevices::DeviceStep ForwarderDevices::run(PieceCopy& job,
                                                   const local::Place& word,
                                                   AccessVerdict& verdict) {
    const bool is_store = job.kind == PieceCopy::Kind::store;
    const Blame blame = is_store ? Blame::target : Blame::source;
    if (job.chunk == none) {
        Device* const device = device_of(word);
        if (device == nullptr) {
            verdict = {Code::unsupported, blame, 0};
            return DeviceStep::ended;
        }
        const std::uint32_t index = is_locked(device) ? none : take_chunk();
        if (index == none) return DeviceStep::waiting;
        char* const value = memory_of(index);
        chunks_[index] = {device, 0, 0, job.bytes, !is_store, false};
        std::memcpy(value, &job.operand, sizeof job.operand);  // little endian
        const DeviceStep step =
            begun(job, index,
                  is_store ? device->copy_in(word.owner_address, value, job.bytes)
                           : device->copy_out(value, word.owner_address, job.bytes),
                  blame, verdict);
        if (step == DeviceStep::advanced && !is_store) atomics_ |= 1U << index;
        return step;
    }
    const DeviceStep step = await(job, blame, verdict);
    if (step != DeviceStep::ready) return step;
    Chunk& chunk = chunks_[job.chunk];
    if (chunk.is_out) {  // the word was read: it is changed, and written
        const memory::Command command{job.operation, static_cast<std::uint8_t>(job.bytes),
                                      job.target,    job.source,
                                      job.bytes,     job.operand,
                                      job.expected};
        char* const value = memory_of(job.chunk);
        job.old = local::apply(command, value);
        const std::uint32_t index = std::exchange(job.chunk, none);
        chunk.is_out = false;
        auto ticket = chunk.device->copy_in(word.owner_address, value, job.bytes);
        if (!ticket.is_ok()) atomics_ &= ~(1U << index);
        const DeviceStep next = begun(job, index, std::move(ticket), blame, verdict);
        return next == DeviceStep::waiting ? DeviceStep::advanced
                                           : next;  // then it is read once more
    }
    verdict = {Code::ok, Blame::nothing, job.old};
    memory_.note_moved({job.operation, static_cast<std::uint8_t>(job.bytes), job.target, job.source,
                        job.bytes, job.operand, job.expected},
                       word, job.origin);
    give_chunk(job);
    return DeviceStep::ended;
}

AccessVerdict ForwarderDevices::request(const memory::Command& command, const local::Place& word) {
    const bool is_request =
        host_ != nullptr && command.operation == memory::Operation::swap && command.width == 8;
    if (!is_request) return {Code::unsupported, Blame::source, 0};
    const auto answer = host_->on_request(word.owner_address, command.operand);
    if (!answer.is_ok()) return {answer.failure().code(), Blame::source, 0};
    return {Code::ok, Blame::nothing, answer.value()};
}

bool ForwarderDevices::place(const MessageHead& head, std::span<const char> payload) {
    // A sender of this node may have overwritten the length in its port.
    if (host_ == nullptr || payload.size() > slot_bytes_) return false;
    {
        const ForwarderMemory::Naming naming(memory_, head.target, head.target);
        local::Place target;
        const AccessVerdict found = memory_.find_target(head.target, payload.size(), target);
        if (!found.is_ok() || !is_own(target)) return false;
    }
    const std::uint32_t slot = (placement_first_ + placement_count_) % slot_count;
    InboundSlot& placement = placements_[slot];
    placement = {};
    placement.target = head.target;
    placement.source = head.source;
    placement.bytes = payload.size();
    placement.token = head.token;
    placement.origin = head.origin;
    placement.is_last = head.is_last != 0;
    char* const bytes = memory_of(chunk_count) + std::uint64_t{slot} * slot_bytes_;
    std::memcpy(bytes, payload.data(), payload.size());
    ++placement_count_;
    (void)begin_placements();
    return true;
}

// False: it cannot begin now.
bool ForwarderDevices::begin_placement(InboundSlot& placement, const char* bytes) {
    const ForwarderMemory::Naming naming(memory_, placement.target, placement.target);
    local::Place target;
    placement.verdict = memory_.find_target(placement.target, placement.bytes, target);
    if (!placement.verdict.is_ok()) return true;
    Device* const device = device_of(target);
    if (device == nullptr) {
        placement.verdict = {Code::unsupported, Blame::target, 0};
        return true;
    }
    if (is_locked(device)) return false;
    const auto ticket = device->copy_in(target.owner_address, bytes, placement.bytes);
    if (ticket.is_ok()) {
        placement.device = device;
        placement.ticket = ticket.value();
        memory_.note_moved(
            {memory::Operation::copy, 0, placement.target, placement.source, placement.bytes, 0, 0},
            target, placement.origin);
        return true;
    }
    if (ticket.failure().code() == Code::limit) return false;
    placement.verdict = {ticket.failure().code(), Blame::target, 0};
    return true;
}

// In their order: those of one copy are behind each other, and its end is that of the last one.
std::uint32_t ForwarderDevices::begin_placements() {
    std::uint32_t begun = 0;
    while (begun_count_ < placement_count_) {
        const std::uint32_t slot = (placement_first_ + begun_count_) % slot_count;
        const char* const bytes = memory_of(chunk_count) + std::uint64_t{slot} * slot_bytes_;
        if (!begin_placement(placements_[slot], bytes)) break;
        ++begun_count_;
        ++begun;
    }
    return begun;
}

std::optional<ForwarderDevices::Placed> ForwarderDevices::take_placed() noexcept {
    while (begun_count_ != 0) {
        InboundSlot& first = placements_[placement_first_];
        if (first.device != nullptr && !first.device->has_ended(first.ticket)) {
            if (!first.device->is_lost()) return std::nullopt;
            first.verdict = {Code::system, Blame::target, 0};
        }
        const Placed placed{first.origin, first.token, first.verdict};
        const bool is_reported = first.is_last || !first.verdict.is_ok();
        placement_first_ = (placement_first_ + 1) % slot_count;
        --placement_count_;
        --begun_count_;
        if (is_reported) return placed;
    }
    return std::nullopt;
}

std::uint32_t ForwarderDevices::poll() {
    if (host_ == nullptr) return 0;
    std::uint32_t done = 0;
    for (std::uint32_t number = 0; number < host_->device_count(); ++number) {
        Device* const device = host_->device(number);
        if (device != nullptr && device->poll()) ++done;
    }
    for (Chunk& chunk : chunks_) {
        if (!chunk.is_abandoned) continue;
        if (chunk.device->has_ended(chunk.ticket) || chunk.device->is_lost()) chunk = {};
    }
    return done + begin_placements();
}

bool ForwarderDevices::has_work() const noexcept {
    if (placement_count_ != 0) return true;
    return std::any_of(chunks_.begin(), chunks_.end(), [](const Chunk& chunk) {
        return chunk.device != nullptr && !chunk.device->is_lost() &&
               (chunk.is_abandoned || !chunk.device->has_ended(chunk.ticket));
    });
}

}  // namespace acp::mailbox
