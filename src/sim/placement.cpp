// SPDX-License-Identifier: BSD-3-Clause
// Accesses to simulated memory that settle at once or later. One thread.
#include "sim/placement.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace acp::sim {

namespace {

constexpr std::uint32_t refuse_ppm = 100'000;
constexpr std::uint32_t again_ppm = 200'000;
constexpr Time refuse_ns_max = 5 * ms;
constexpr Time settle_ns_max = 300 * us;
constexpr std::uint64_t slot_bits = 32;

}  // namespace

std::uint32_t echo(std::span<const std::byte> arguments, std::span<std::byte> result) noexcept {
    // The result is between nothing and twice as long as the arguments, whose bytes it repeats in
    // changed form.
    const std::uint64_t first = arguments.size() >= 8 ? load(arguments.first(8)) : arguments.size();
    const std::uint64_t wanted = base::mix64(first) % (2 * arguments.size() + 1);
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, result.size()));
    for (std::uint32_t i = 0; i < bytes; ++i) {
        result[i] = arguments[i % arguments.size()] ^ static_cast<std::byte>(i * 7 + 1);
    }
    return bytes;
}

ArrayPlacement::ArrayPlacement(const Surroundings& around, NodeId node, std::uint32_t incarnation)
    : around_(around),
      node_(node),
      incarnation_(incarnation),
      random_(base::mix64(around.plan->seed ^ (0x706c6163U + node)) + incarnation),
      refuses_until_(around.plan->procs()) {}

router::SettlementState ArrayPlacement::answer(std::uint32_t process) {
    const MemoryManner manner = around_.plan->manners[process];
    if (manner == MemoryManner::prompt) return router::SettlementState::settled;
    if (manner == MemoryManner::batched) return router::SettlementState::accepted;
    if (manner == MemoryManner::late) return router::SettlementState::accepted;
    if (around_.agenda->now() < refuses_until_[process]) return router::SettlementState::refused;
    if (chance(random_, refuse_ppm)) {
        refuses_until_[process] = around_.agenda->now() + random_.below(refuse_ns_max);
        return router::SettlementState::refused;
    }
    return random_.below(2) == 0 ? router::SettlementState::settled
                                 : router::SettlementState::accepted;
}

ArrayPlacement::PendingAccess& ArrayPlacement::take(std::uint32_t process,
                                                    Kind kind,
                                                    router::Ticket ticket) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(jobs_.size()));
        jobs_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    ++pending_;
    PendingAccess& job = jobs_[slot];
    job.kind = kind;
    job.process = process;
    job.ticket = ticket;
    if (around_.plan->manners[process] == MemoryManner::batched) {
        batch_.push_back(slot);
    } else {
        around_.agenda->add(around_.agenda->now() + 1 + random_.below(settle_ns_max),
                            EventKind::settle, node_,
                            (std::uint64_t{incarnation_} << slot_bits) | slot);
    }
    return job;
}

router::Settlement ArrayPlacement::put(router::GlobalAddress target,
                                       std::span<const std::byte> bytes,
                                       router::Ticket ticket) {
    Range range;
    const base::Code code = around_.memory->find(target, bytes.size(), range);
    if (code != base::Code::ok) return {router::SettlementState::settled, code};
    const router::SettlementState progress = answer(range.process);
    if (progress == router::SettlementState::settled) {
        std::memcpy(around_.memory->held(range).data(), bytes.data(), bytes.size());
    } else if (progress == router::SettlementState::accepted) {
        PendingAccess& job = take(range.process, Kind::put, ticket);
        job.range = range;
        job.bytes.assign(bytes.begin(), bytes.end());
    }
    return {progress, base::Code::ok};
}

router::Settlement ArrayPlacement::get_now(router::GlobalAddress source,
                                           std::span<std::byte> into) {
    Range range;
    const base::Code code = around_.memory->find(source, into.size(), range);
    if (code != base::Code::ok) return {router::SettlementState::settled, code};
    if (around_.plan->manners[range.process] != MemoryManner::prompt) {
        return {router::SettlementState::refused, base::Code::ok};
    }
    std::memcpy(into.data(), around_.memory->held(range).data(), into.size());
    return {router::SettlementState::settled, base::Code::ok};
}

const std::byte* ArrayPlacement::find_lasting(router::GlobalAddress source, std::uint64_t bytes) {
    Range range;
    const bool is_found = around_.memory->find(source, bytes, range) == base::Code::ok &&
                          around_.plan->manners[range.process] == MemoryManner::prompt;
    return is_found ? around_.memory->held(range).data() : nullptr;
}

router::Settlement ArrayPlacement::get(router::GlobalAddress source,
                                       std::span<std::byte> into,
                                       router::Ticket ticket) {
    Range range;
    const base::Code code = around_.memory->find(source, into.size(), range);
    if (code != base::Code::ok) return {router::SettlementState::settled, code};
    const router::SettlementState progress = answer(range.process);
    if (progress == router::SettlementState::settled) {
        std::memcpy(into.data(), around_.memory->held(range).data(), into.size());
    } else if (progress == router::SettlementState::accepted) {
        PendingAccess& job = take(range.process, Kind::get, ticket);
        job.range = range;
        job.into = into;
    }
    return {progress, base::Code::ok};
}

router::Settlement ArrayPlacement::run(const memory::Command& command,
                                       bool is_value_wanted,
                                       std::uint64_t& old,
                                       router::Ticket ticket) {
    Range range;
    base::Code code = around_.memory->find(command.source, command.bytes, range);
    const std::uint32_t process = range.process;
    if (code == base::Code::ok && !is_value_wanted) {
        code = around_.memory->find(command.target_or_word(), command.bytes, range);
    }
    if (code != base::Code::ok) return {router::SettlementState::settled, code};
    if (!command.is_copy() && command.source % command.width != 0) {
        return {router::SettlementState::settled, base::Code::alignment};
    }
    const router::SettlementState progress = answer(process);
    if (progress == router::SettlementState::settled) {
        old = around_.memory->run(command, is_value_wanted);
    } else if (progress == router::SettlementState::accepted) {
        PendingAccess& job = take(process, Kind::run, ticket);
        job.command = command;
        job.is_value_wanted = is_value_wanted;
    }
    return {progress, base::Code::ok};
}

router::Settlement ArrayPlacement::invoke(std::uint32_t operation,
                                          std::uint32_t process,
                                          std::span<const std::byte> arguments,
                                          std::span<std::byte> result,
                                          std::uint32_t& result_bytes) {
    result_bytes = 0;
    if (operation != operation_echo) {
        return {router::SettlementState::settled, base::Code::unsupported};
    }
    if (around_.plan->manners[process] != MemoryManner::prompt && chance(random_, again_ppm)) {
        return {router::SettlementState::refused, base::Code::ok};
    }
    around_.witness->on_invoked(process, arguments);
    result_bytes = echo(arguments, result);
    return {router::SettlementState::settled, base::Code::ok};
}

void ArrayPlacement::flush() {
    std::vector<std::uint32_t> batch;
    batch.swap(batch_);
    for (const std::uint32_t slot : batch) settle(slot);
}

bool ArrayPlacement::on_event(const AgendaEntry& event) {
    if (event.argument >> slot_bits != incarnation_) return false;
    settle(static_cast<std::uint32_t>(event.argument));
    return true;
}

base::Code ArrayPlacement::do_job(const PendingAccess& job, std::uint64_t& value) const {
    // On a real node the process itself would do this access, and it is dead.
    if ((*around_.dead)[job.process] != 0) return base::Code::peer;
    if (job.kind == Kind::put) {
        std::memcpy(around_.memory->held(job.range).data(), job.bytes.data(), job.bytes.size());
    } else if (job.kind == Kind::get) {
        std::memcpy(job.into.data(), around_.memory->held(job.range).data(), job.into.size());
    } else {
        value = around_.memory->run(job.command, job.is_value_wanted);
    }
    return base::Code::ok;
}

void ArrayPlacement::settle(std::uint32_t slot) {
    std::uint64_t value = 0;
    const base::Code code = do_job(jobs_[slot], value);
    const router::Ticket ticket = jobs_[slot].ticket;
    jobs_[slot].kind = Kind::none;
    free_.push_back(slot);
    --pending_;
    router_->on_settled(ticket, code, value);
}

}  // namespace acp::sim
