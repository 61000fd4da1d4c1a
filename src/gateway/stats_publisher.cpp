// SPDX-License-Identifier: BSD-3-Clause
// Gathering the counters, and the sequence around their writing.
#include "gateway/stats_publisher.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "datagram/counters.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/memory_file.hpp"

namespace acp::gateway {

static_assert(stats_peers_max == engine::Engine::recent_peers_max);

namespace {

constexpr int read_tries = 1000;

// Counters are structures of 64-bit numbers, which are added one after the other.
template <typename Counters, std::size_t room>
void add_counters(const Counters& from, std::array<std::uint64_t, room>& into) noexcept {
    static_assert(sizeof(Counters) % sizeof(std::uint64_t) == 0 && sizeof(Counters) <= sizeof into);
    static_assert(std::is_trivially_copyable_v<Counters>);
    std::array<std::uint64_t, sizeof(Counters) / sizeof(std::uint64_t)> numbers{};
    std::memcpy(numbers.data(), &from, sizeof from);
    for (std::size_t i = 0; i < numbers.size(); ++i) into[i] += numbers[i];
}

// The shorter of two times, where 0 is one that was not measured.
std::uint64_t shorter(std::uint64_t a, std::uint64_t b) noexcept {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// The sum of the counters of a node over all rails, with the times of the fastest rail. Returns
// false if no rail has a connection with the node.
bool sum_of(const engine::Engine& core, NodeId node, datagram::PeerStats& sum) noexcept {
    bool is_any = false;
    for (const auto& rail : core.rails()) {
        datagram::PeerStats one;
        if (!rail->endpoint().stats(node, one)) continue;
        if (!std::exchange(is_any, true)) {
            sum = one;
            continue;
        }
        sum.is_severed = sum.is_severed || one.is_severed;
        sum.smoothed_rtt_ns = shorter(sum.smoothed_rtt_ns, one.smoothed_rtt_ns);
        sum.minimum_rtt_ns = shorter(sum.minimum_rtt_ns, one.minimum_rtt_ns);
        sum.window_bytes += one.window_bytes;
        sum.credit += one.credit;
        sum.in_flight_bytes += one.in_flight_bytes;
        sum.datagram_bytes = std::min(sum.datagram_bytes, one.datagram_bytes);
        sum.retransmitted += one.retransmitted;
        sum.bytes_sent += one.bytes_sent;
        sum.bytes_received += one.bytes_received;
    }
    return is_any;
}

constexpr std::size_t value_words = sizeof(StatsValues) / sizeof(std::uint64_t);
static_assert(sizeof(StatsValues) % sizeof(std::uint64_t) == 0);

std::atomic_ref<std::uint64_t> word_of(const StatsValues& values, std::size_t i) noexcept {
    const auto* words = reinterpret_cast<const std::uint64_t*>(&values);
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(words[i]));
}

}  // namespace

StatsPublisher::StatsPublisher(os::FileDescriptor file, os::Mapping mapping)
    : file_(std::move(file)),
      mapping_(std::move(mapping)),
      is_asked_(std::make_unique<std::atomic<bool>>(false)),
      values_(std::make_unique<StatsValues>()) {}

base::Result<StatsPublisher> StatsPublisher::create(NodeId node,
                                                    NodeId nodes,
                                                    std::uint32_t first_process,
                                                    std::uint32_t local_procs,
                                                    Owner owner) {
    auto file = os::create_memory_file("acp-gateway", sizeof(StatsBlock));
    if (!file.is_ok()) return std::move(file).failure();
    auto mapping = os::Mapping::map_shared(file.value().get(), sizeof(StatsBlock));
    if (!mapping.is_ok()) return std::move(mapping).failure();
    StatsPublisher made(std::move(file).value(), std::move(mapping).value());
    made.first_process_ = first_process;
    auto& block = *reinterpret_cast<StatsBlock*>(made.mapping_.data());
    made.values_->node = node;
    made.values_->nodes = nodes;
    made.values_->local_procs = local_procs;
    made.values_->is_of_rank = owner == Owner::rank ? 1 : 0;
    made.values_->started_ns = os::now_ns();
    block.version = stats_version;
    block.values_bytes = sizeof(StatsValues);
    block.magic = stats_magic;
    return made;
}

void StatsPublisher::publish(Time now, engine::Engine& core, const Own& own) {
    is_asked_->store(false, std::memory_order_relaxed);
    next_ns_ = now + stats_interval_ns;
    auto& block = *reinterpret_cast<StatsBlock*>(mapping_.data());
    values_->updated_ns = now;
    values_->turns = own.turns;
    values_->sleeps = own.sleeps;
    fill(*values_, core);
    const std::uint64_t sequence = block.sequence.load(std::memory_order_relaxed);
    block.sequence.store(sequence + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < value_words; ++i) {
        // release: a reader that sees any of the values sees the odd number; partner: read_stats
        word_of(block.values, i)
            .store(word_of(*values_, i).load(std::memory_order_relaxed), std::memory_order_release);
    }
    block.sequence.store(sequence + 2, std::memory_order_release);  // partner: read_stats
}

void StatsPublisher::fill(StatsValues& values, engine::Engine& core) const {
    values.receive_drops = 0;
    values.receive_bytes = core.rails().front()->transport().receive_bytes();
    for (const auto& rail : core.rails()) values.receive_drops += rail->transport().receive_drops();
    values.outstanding = core.router().outstanding();
    fill_tables(values.tables, core);
    std::uint32_t count = 0;
    for (const NodeId node : core.recent_peers()) {
        datagram::PeerStats stats;
        if (!sum_of(core, node, stats)) continue;
        values.peers[count++] = {node,
                                 stats.is_severed ? 1U : 0U,
                                 stats.smoothed_rtt_ns,
                                 stats.minimum_rtt_ns,
                                 stats.window_bytes,
                                 stats.credit,
                                 stats.in_flight_bytes,
                                 stats.datagram_bytes,
                                 stats.retransmitted,
                                 stats.bytes_sent,
                                 stats.bytes_received};
    }
    values.peer_count = count;
    const auto slots = std::min<std::size_t>(values.local_procs, stats_slots_max);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        values.outstanding_of[slot] = core.router().outstanding_of(first_process_ + slot);
    }
}

void StatsPublisher::fill_tables(StatsTables& tables, engine::Engine& core) {
    tables = {};
    for (const auto& rail : core.rails()) {
        add_counters(rail->endpoint().counters(), tables.datagram);
        add_counters(rail->transport().counters(), tables.transport);
        if (const engine::FaultCounters* faults = rail->transport().faults()) {
            add_counters(*faults, tables.faults);
        }
    }
    add_counters(core.router().counters(), tables.router);
    add_counters(core.placement().counts(), tables.memory);
}

bool read_stats(const StatsBlock& block, StatsValues& into) noexcept {
    if (block.magic != stats_magic || block.version != stats_version ||
        block.values_bytes != sizeof(StatsValues)) {
        return false;
    }
    for (int i = 0; i < read_tries; ++i) {
        // acquire: the values written before this number are visible; partner: the writer's release
        const std::uint64_t before = block.sequence.load(std::memory_order_acquire);
        if (before == 0) return false;
        if (before % 2 == 0) {
            for (std::size_t word = 0; word < value_words; ++word) {
                // acquire: the copy is before the next look; partner: publish
                word_of(into, word)
                    .store(word_of(block.values, word).load(std::memory_order_acquire),
                           std::memory_order_relaxed);
            }
            if (block.sequence.load(std::memory_order_relaxed) == before) return true;
        }
        os::relax();
    }
    return false;
}

}  // namespace acp::gateway
