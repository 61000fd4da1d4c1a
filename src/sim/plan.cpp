// SPDX-License-Identifier: BSD-3-Clause
// Makes plans from seeds. Knows which settings and faults are worth trying, and no rules. Pure; any
// thread.
#include "sim/plan.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/format.hpp"

namespace acp::sim {

namespace {

constexpr std::uint64_t percent = million / 100;

void choose_shape(Plan& plan, base::Random& random, Scale scale) {
    const std::uint64_t kind = random.below(100);
    if (scale == Scale::small) {
        plan.nodes = static_cast<NodeId>(kind < 50   ? 2
                                         : kind < 85 ? 3 + random.below(2)
                                                     : 5 + random.below(4));
    } else {
        plan.nodes = static_cast<NodeId>(kind < 20 ? 2 : log_uniform(random, 2, nodes_max));
    }
    const std::uint64_t procs_max = scale == Scale::small ? 2 : plan.nodes > 16 ? 3 : 8;
    plan.first_process.push_back(0);
    for (NodeId node = 0; node < plan.nodes; ++node) {
        plan.first_process.push_back(plan.first_process.back() +
                                     static_cast<std::uint32_t>(1 + random.below(procs_max)));
    }
    const std::uint64_t manners = random.below(3);  // all prompt, all of one other manner, or mixed
    const auto other = static_cast<MemoryManner>(1 + random.below(3));
    for (std::uint32_t process = 0; process < plan.procs(); ++process) {
        MemoryManner manner = MemoryManner::prompt;
        if (manners == 1 && random.below(2) == 0) manner = other;
        if (manners == 2) manner = static_cast<MemoryManner>(random.below(4));
        plan.manners.push_back(manner);
    }
}

void choose_endpoint(Plan& plan, base::Random& random, Scale scale) {
    const std::uint64_t mtu = random.below(10);
    plan.datagram_bytes = mtu < 4 ? 1472 : mtu < 7 ? 548 : mtu < 9 ? 1232 : 8972;
    plan.datagram_bytes_max = std::max(plan.datagram_bytes, 1472U);
    if (random.below(4) == 0) plan.datagram_bytes_max = random.below(2) == 0 ? 4058 : 8972;
    plan.datagram_bytes_max = std::max(plan.datagram_bytes_max, plan.datagram_bytes);
    if (random.below(10) == 0) plan.security = base::Security::authenticate;
    if (random.below(4) == 0) plan.control = base::CongestionAlgorithm::new_reno;
    plan.send_buffers =
        static_cast<std::uint32_t>(log_uniform(random, 64, scale == Scale::small ? 256 : 2048));
    plan.receive_bytes = log_uniform(random, 128 * kib, 8 * mib);
    plan.commands_max = static_cast<std::uint32_t>(log_uniform(random, 8, 256));
    plan.executions_max = static_cast<std::uint32_t>(log_uniform(random, 8, 256));
    plan.undelivered_bytes_max = log_uniform(random, 16 * kib, 256 * kib);
    if (random.below(3) == 0) {
        // The delivery sequence number wraps around soon.
        plan.first_delivery = 0U - static_cast<std::uint32_t>(random.below(64));
    }
    if (random.below(4) == 0) plan.idle_fold_ns = log_uniform(random, 10 * ms, 10 * s);
    constexpr Time timeouts[] = {2 * s, 5 * s, 10 * s, 10 * s};
    plan.peer_timeout_ns = timeouts[random.below(4)];
    plan.connect_timeout_ns = 5 * s;
}

void choose_link(Plan& plan, base::Random& random) {
    LinkPlan& link = plan.link;
    link.delay_ns = log_uniform(random, 2 * us, random.below(8) == 0 ? 50 * ms : 500 * us);
    link.jitter_ns = random.below(2) == 0 ? 0 : random.below(link.delay_ns + 1);
    // 100 Gb/s .. 100 Mb/s
    link.ns_per_kib = static_cast<std::uint32_t>(log_uniform(random, 80, 80'000));
    link.queue_bytes = static_cast<std::uint32_t>(log_uniform(random, 32 * kib, 4 * mib));
    if (random.below(6) == 0) return;  // no faults on links
    if (random.below(2) == 0) {
        link.loss_ppm = static_cast<std::uint32_t>(
            log_uniform(random, 1000, random.below(4) == 0 ? 50 * percent : 10 * percent));
    }
    if (random.below(5) == 0) {
        link.burst_enter_ppm = static_cast<std::uint32_t>(log_uniform(random, 1000, 5 * percent));
        link.burst_leave_ppm =
            static_cast<std::uint32_t>(log_uniform(random, 2 * percent, 50 * percent));
    }
    if (random.below(3) == 0) {
        link.duplicate_ppm =
            static_cast<std::uint32_t>(log_uniform(random, 1 * percent, 50 * percent));
        link.duplicate_late_ns =
            random.below(3) == 0 ? random.below(3 * s) : random.below(20 * link.delay_ns);
    }
    if (random.below(3) == 0) {
        link.reorder_ppm =
            static_cast<std::uint32_t>(log_uniform(random, 1 * percent, 50 * percent));
        link.reorder_span = static_cast<std::uint32_t>(log_uniform(random, 1, reorder_span_max));
    }
    if (random.below(5) == 0) {
        link.corrupt_ppm = static_cast<std::uint32_t>(log_uniform(random, 1000, 10 * percent));
    }
    if (link.loss_ppm > 10 * percent || link.burst_enter_ppm > 0) {
        // With short timeouts such losses alone would sever nodes early in the run.
        plan.peer_timeout_ns = 30 * s;
        plan.connect_timeout_ns = 30 * s;
    }
}

// The duration of a fault: mostly short, sometimes longer than the peer timeout.
Time lasting(base::Random& random, const Plan& plan) {
    if (random.below(5) == 0) return plan.peer_timeout_ns + random.below(5 * s);
    return log_uniform(random, 1 * ms, plan.peer_timeout_ns / 2);
}

PlannedFault choose_fault(const Plan& plan, base::Random& random, Time span) {
    PlannedFault fault;
    const std::uint64_t kind = random.below(100);
    fault.from = random.below(span);
    fault.until = fault.from + lasting(random, plan);
    fault.a = static_cast<std::uint32_t>(random.below(plan.nodes));
    fault.b = static_cast<std::uint32_t>((fault.a + 1 + random.below(plan.nodes - 1)) % plan.nodes);
    if (kind < 25) {
        fault.kind = FaultKind::one_way;
    } else if (kind < 40) {
        fault.kind = FaultKind::isolate;
    } else if (kind < 45) {
        fault.kind = FaultKind::split;
        fault.a = static_cast<std::uint32_t>(1 + random.below(plan.nodes - 1));
    } else if (kind < 55) {
        fault.kind = FaultKind::mtu_hole;
        fault.bytes = plan.datagram_bytes;
    } else if (kind < 75) {
        fault.kind = FaultKind::pause;
    } else if (kind < 85) {
        fault.kind = FaultKind::restart;
    } else if (kind < 97) {
        fault.kind = FaultKind::death;
        fault.a = static_cast<std::uint32_t>(random.below(plan.procs()));
    } else {
        fault.kind = FaultKind::sever;
    }
    return fault;
}

void choose_faults(Plan& plan, base::Random& random, Scale scale) {
    const Time span = plan.gap_ns_max * plan.steps + 4 * plan.link.delay_ns * plan.steps;
    plan.faults_end = span + log_uniform(random, 10 * ms, 2 * s);
    if (random.below(2) == 0) return;
    const std::uint64_t count = 1 + random.below(scale == Scale::small ? 3 : 6);
    for (std::uint64_t i = 0; i < count; ++i) {
        plan.faults.push_back(choose_fault(plan, random, span));
        plan.faults_end = std::max(plan.faults_end, plan.faults.back().until);
    }
}

// Chooses short-lived keys, which change many times within a burst of losses.
void choose_keys(Plan& plan, base::Random& random) {
    if (random.below(2) == 0) return;
    plan.key_packets_log2 = static_cast<std::uint32_t>(4 + random.below(9));
}

void choose_work(Plan& plan, base::Random& random, Scale scale) {
    plan.steps = static_cast<std::uint32_t>(
        scale == Scale::small ? 3 + random.below(14)
                              : log_uniform(random, 8, plan.nodes > 16 ? 40 : 200));
    const std::uint64_t size = random.below(1000);
    const std::uint64_t large = scale == Scale::small ? 1 : 4;
    if (size < 700) {
        plan.copy_bytes_max = log_uniform(random, 16, 4096);
    } else if (size < 960) {
        plan.copy_bytes_max = 16 * kib;
    } else if (size < 1000 - 3 * large) {
        plan.copy_bytes_max = 128 * kib;
    } else {
        plan.copy_bytes_max = mib;
    }
    plan.gap_ns_max = log_uniform(random, 100, 2 * ms);
    plan.meetings = random.below(3) == 0 ? static_cast<std::uint32_t>(1 + random.below(3)) : 0;
    plan.has_bad_addresses = random.below(5) == 0;
    plan.is_closed_by_one = random.below(4) == 0;
}

constexpr Time harmless_cut = 5 * ms;  // half the time for which no node gives up another

// Plans a flood: one node severs two others and is flooded with data in the name of one of them; it
// must still send the other one its CLOSE.
void choose_flood(Plan& plan, base::Random& random) {
    plan.attack.forge_every_ns = 1 * ms;
    plan.attack.repeats = 63;
    plan.peer_timeout_ns = 2 * s;
    plan.link.loss_ppm = plan.link.burst_enter_ppm = plan.link.corrupt_ppm = 0;
    plan.link.reorder_ppm = 0;
    plan.link.queue_bytes = mib;
    // On a short path one of many probes would be answered by chance, however few answers are
    // allowed.
    plan.link.delay_ns = std::max<Time>(plan.link.delay_ns, 50 * ms);
    plan.link.jitter_ns = 0;
    plan.receive_bytes = std::max<std::uint64_t>(plan.receive_bytes, 4 * mib);
    PlannedFault sever;
    sever.kind = FaultKind::sever;
    sever.a = static_cast<std::uint32_t>(random.below(plan.nodes));
    sever.b = (sever.a + 1) % plan.nodes;
    sever.from = 200 * ms + random.below(5 * plan.link.delay_ns);
    sever.until = sever.from;
    PlannedFault flooded = sever;
    flooded.b = (sever.a + 2) % plan.nodes;
    flooded.from = flooded.until = 1 * ms;
    // The first CLOSE is lost, so the severed node gets one only in answer to its own datagrams.
    PlannedFault deaf = sever;
    deaf.kind = FaultKind::one_way;
    deaf.from = sever.from - harmless_cut;
    deaf.until = sever.from + harmless_cut;
    plan.faults = {deaf, sever, flooded};
    plan.gap_ns_max = std::max<Time>(plan.gap_ns_max, 200 * ms);
    plan.faults_end = std::max(plan.faults_end, 3 * plan.peer_timeout_ns);
}

// Chooses the attacker by a second generator, so that a plan without one does not depend on this
// function.
void choose_attack(Plan& plan, std::uint64_t seed) {
    base::Random random(base::mix64(seed ^ 0x636f7079U));
    if (random.below(4) != 0) return;
    AttackPlan& attack = plan.attack;
    const std::uint64_t kind = random.below(100);
    attack.repeats = static_cast<std::uint32_t>(random.below(4));
    attack.repeat_ns = log_uniform(random, 100 * us, 200 * ms);
    attack.late_ns = random.below(2) == 0 ? 2 * plan.link.delay_ns : random.below(2 * s);
    attack.overtakes = random.below(2) == 0;
    if (kind < 60) {
        attack.copy_ppm = million;
        attack.data_copy_ppm = random.below(2) == 0 ? 0 : 10 * percent;
    } else if (kind < 70) {
        // One node is cut off after its INIT, but the attacker repeats the INIT for ever. A node
        // that waits for it must report it as lost.
        attack.copy_ppm = million;
        attack.takes_asker_off = true;
        attack.repeat_ns = 200 * ms;
        const Time patience = plan.connect_timeout_ns + plan.peer_timeout_ns;
        attack.repeats = static_cast<std::uint32_t>(3 * patience / attack.repeat_ns);
        plan.faults_end = std::max(plan.faults_end, 3 * patience);
    } else if (kind < 73 && plan.nodes > 2) {
        choose_flood(plan, random);
        return;
    } else if (kind < 85) {
        attack.repeats = 0;
        attack.forge_every_ns = log_uniform(random, 100 * us, 2 * ms);
        // Forged data costs most if it names idle peers.
        plan.idle_fold_ns = log_uniform(random, 10 * ms, 100 * ms);
    } else {
        attack.icmp_ppm = static_cast<std::uint32_t>(log_uniform(random, percent, 30 * percent));
    }
    if (random.below(2) == 0) return;
    // Without other faults every failure is the attacker's doing.
    plan.link.loss_ppm = plan.link.burst_enter_ppm = plan.link.corrupt_ppm = 0;
    plan.link.reorder_ppm = 0;
    plan.link.queue_bytes = std::max<std::uint32_t>(plan.link.queue_bytes, mib);
    plan.receive_bytes = std::max<std::uint64_t>(plan.receive_bytes, 4 * mib);
    std::erase_if(plan.faults,
                  [](const PlannedFault& fault) { return fault.kind != FaultKind::sever; });
}

const char* name_of(FaultKind kind) {
    constexpr const char* names[] = {"one-way cut", "isolation", "split", "mtu hole",
                                     "pause",       "restart",   "death", "sever"};
    return names[static_cast<std::size_t>(kind)];
}

}  // namespace

bool Plan::is_calm() const noexcept {
    const bool carries_all = link.loss_ppm == 0 && link.burst_enter_ppm == 0 &&
                             link.corrupt_ppm == 0 && !attack.takes_asker_off;
    return carries_all && std::all_of(faults.begin(), faults.end(), [](const PlannedFault& fault) {
               const bool is_short_cut =
                   fault.kind == FaultKind::one_way && fault.until - fault.from <= 2 * harmless_cut;
               return fault.kind == FaultKind::sever || fault.kind == FaultKind::death ||
                      is_short_cut;
           });
}

NodeId Plan::node_of(std::uint32_t process) const noexcept {
    const auto after = std::upper_bound(first_process.begin(), first_process.end(), process);
    return static_cast<NodeId>(after - first_process.begin() - 1);
}

std::uint64_t log_uniform(base::Random& random, std::uint64_t low, std::uint64_t high) {
    // Draws a number of bits first, then a number with that many bits within the bounds.
    const auto bits_low = static_cast<std::uint64_t>(std::bit_width(low));
    const auto bits_high = static_cast<std::uint64_t>(std::bit_width(high));
    const std::uint64_t bits = bits_low + random.below(bits_high - bits_low + 1);
    const std::uint64_t from = std::max(low, std::uint64_t{1} << (bits - 1));
    const std::uint64_t to = std::min(high, (std::uint64_t{1} << (bits - 1)) * 2 - 1);
    return from + random.below(to - from + 1);
}

Plan make_plan(std::uint64_t seed, Scale scale) {
    base::Random random(base::mix64(seed));
    Plan plan;
    plan.seed = seed;
    choose_shape(plan, random, scale);
    choose_endpoint(plan, random, scale);
    choose_link(plan, random);
    choose_work(plan, random, scale);
    choose_faults(plan, random, scale);
    choose_keys(plan, random);
    choose_attack(plan, seed);
    return plan;
}

Plan make_soak_plan(std::uint64_t seed, std::uint32_t rounds) {
    base::Random random(base::mix64(seed ^ 0x736f616bU));
    Plan plan;
    plan.seed = seed;
    plan.nodes = 4;
    plan.first_process = {0, 2, 4, 6, 8};
    plan.manners = {MemoryManner::prompt, MemoryManner::batched, MemoryManner::late,
                    MemoryManner::prompt, MemoryManner::prompt,  MemoryManner::reluctant,
                    MemoryManner::prompt, MemoryManner::late};
    plan.datagram_bytes_max = 8972;
    plan.key_packets_log2 = 12;
    plan.first_delivery = ~0U - 100'000;
    plan.idle_fold_ns = 8 * s;
    plan.link = {
        .delay_ns = 50 * us, .jitter_ns = 20 * us, .ns_per_kib = 800, .queue_bytes = 1 << 20};
    plan.link.loss_ppm = 10'000;
    plan.link.duplicate_ppm = 10'000;
    plan.link.duplicate_late_ns = 1 * s;
    plan.link.reorder_ppm = 50'000;
    plan.link.reorder_span = 32;
    plan.link.corrupt_ppm = 1000;
    plan.steps = 16;
    plan.copy_bytes_max = 16 * kib;
    plan.meetings = 1;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        if (random.below(4) != 0) continue;
        constexpr FaultKind kinds[] = {FaultKind::one_way, FaultKind::isolate, FaultKind::split,
                                       FaultKind::mtu_hole, FaultKind::pause};
        PlannedFault fault;
        fault.kind = kinds[random.below(std::size(kinds))];
        fault.a = static_cast<std::uint32_t>(fault.kind == FaultKind::split ? 1 + random.below(3)
                                                                            : random.below(4));
        fault.b = (fault.a + 1 + static_cast<std::uint32_t>(random.below(3))) % 4;
        fault.bytes = plan.datagram_bytes;
        fault.from = round * soak_round_ns + random.below(2 * ms);
        fault.until = fault.from + log_uniform(random, 1 * ms, 4 * s);
        plan.faults.push_back(fault);
    }
    plan.faults_end = ~0ULL;
    return plan;
}

std::string describe(const Plan& plan) {
    const LinkPlan& link = plan.link;
    const auto share = [](std::uint32_t ppm) { return std::to_string(ppm / 10'000) + " %"; };
    std::string text = "seed " + std::to_string(plan.seed) + ": " + std::to_string(plan.nodes) +
                       " nodes, " + std::to_string(plan.procs()) + " processes, " +
                       std::to_string(plan.steps) + " commands each up to " +
                       base::human_size(plan.copy_bytes_max) + ", " +
                       std::to_string(plan.meetings) + " meetings\n";
    text += "datagrams of " + std::to_string(plan.datagram_bytes) + " to " +
            std::to_string(plan.datagram_bytes_max) + " B, " + std::to_string(plan.send_buffers) +
            " buffers, socket " + base::human_size(plan.receive_bytes) + ", peer timeout " +
            base::human_duration(static_cast<double>(plan.peer_timeout_ns)) + "\n";
    text += "links: delay " + base::human_duration(static_cast<double>(link.delay_ns)) +
            ", jitter " + base::human_duration(static_cast<double>(link.jitter_ns)) + ", " +
            std::to_string(8'192'000 / link.ns_per_kib) + " Mb/s, loss " + share(link.loss_ppm) +
            ", bursts " + share(link.burst_enter_ppm) + ", duplicates " +
            share(link.duplicate_ppm) + ", reordered " + share(link.reorder_ppm) + " by " +
            std::to_string(link.reorder_span) + ", corrupt " + share(link.corrupt_ppm) + "\n";
    for (const PlannedFault& fault : plan.faults) {
        text += std::string(name_of(fault.kind)) + " " + std::to_string(fault.a) + " " +
                std::to_string(fault.b) + " from " +
                base::human_duration(static_cast<double>(fault.from)) + " until " +
                base::human_duration(static_cast<double>(fault.until)) + "\n";
    }
    if (plan.attack.is_on()) {
        const AttackPlan& attack = plan.attack;
        text += "an attacker copies " + share(attack.copy_ppm) + " of handshakes and " +
                share(attack.data_copy_ppm) + " of data" +
                (attack.overtakes ? ", ahead of them" : "") + ", " +
                std::to_string(attack.repeats) + " times more; forges data every " +
                base::human_duration(static_cast<double>(attack.forge_every_ns)) +
                ", ICMP before " + share(attack.icmp_ppm) + " of sends" +
                (attack.takes_asker_off ? "; cuts off a node that sends an INIT" : "") + "\n";
    }
    return text + "faults end at " + base::human_duration(static_cast<double>(plan.faults_end)) +
           "\n";
}

}  // namespace acp::sim
