// SPDX-License-Identifier: BSD-3-Clause
// Runs a job through its phases. One thread.
#include "sim/world.hpp"

#include <algorithm>
#include <utility>

namespace acp::sim {

namespace {

constexpr std::uint64_t events_per_step_max = 200'000;
constexpr std::uint64_t events_base_max = 2'000'000;
constexpr std::uint64_t events_per_forgery_max = 4;  // events allowed for each forged datagram
constexpr Time rest_limit = 90 * s;  // longest time until everything is acknowledged and freed
constexpr Time settle_time = 3 * s;  // rest must last this long
constexpr Time silence_time = 30 * s;
constexpr Time close_time = 2 * s;
constexpr std::uint64_t heal_argument = ~0ULL;

}  // namespace

class World::Addresses final : public datagram::AddressBook {
public:
    explicit Addresses(NodeId nodes) {
        for (NodeId node = 0; node < nodes; ++node) addresses_.push_back(Network::address_of(node));
    }

    [[nodiscard]] std::span<const datagram::Address> addresses_of(
        NodeId node) const noexcept override {
        return {&addresses_[node], 1};
    }

private:
    std::vector<datagram::Address> addresses_;
};

class World::Places final : public router::Map {
public:
    explicit Places(const Plan& plan) : plan_(plan) {}

    [[nodiscard]] NodeId node_of(std::uint32_t process) const noexcept override {
        return plan_.node_of(process);
    }

    [[nodiscard]] std::uint32_t first_process(NodeId node) const noexcept override {
        return plan_.first_process[node];
    }

private:
    const Plan& plan_;
};

World::World(const Plan& plan, const WorldOptions& options)
    : World(plan, make_workplan(plan), options) {}

World::World(const Plan& plan, Workplan work, const WorldOptions& options)
    : plan_(plan),
      options_(options),
      judge_(options.story),
      work_(std::move(work)),
      memory_(std::make_unique<Memory>(plan_.seed, work_.memory_bytes)),
      network_(plan_, agenda_, judge_),
      addresses_(std::make_unique<Addresses>(plan_.nodes)),
      places_(std::make_unique<Places>(plan_)),
      scratch_(transmit_bytes),
      cuts_(plan_.nodes, std::vector<std::uint8_t>(plan_.nodes)),
      incarnations_(plan_.nodes) {
    address_all(work_, *memory_);
    referee_ = std::make_unique<Referee>(plan_, work_, *memory_, judge_);
    const Common common{&plan_,        &judge_,        &agenda_, &network_,
                        memory_.get(), referee_.get(), &ledger_, addresses_.get(),
                        places_.get(), &scratch_,      &cuts_,   &incarnations_};
    for (NodeId node = 0; node < plan_.nodes; ++node) {
        nodes_.push_back(std::make_unique<Node>(common, node));
    }
}

World::~World() = default;

bool World::begin() {
    for (const auto& node : nodes_) {
        if (!node->start()) return false;
        node->wake_at(0);
    }
    for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
        agenda_.add(plan_.faults[i].from, EventKind::fault, 0, 2 * i);
        agenda_.add(plan_.faults[i].until, EventKind::fault, 0, 2 * i + 1);
    }
    if (!is_endless()) agenda_.add(plan_.faults_end, EventKind::fault, 0, heal_argument);
    return true;
}

RunVerdict World::run() {
    if (!begin()) return verdict();
    while (!judge_.has_failed()) {
        run_until_done();
        if (judge_.has_failed()) break;
        run_until_rest();
        if (judge_.has_failed()) break;
        referee_->look_at_all();
        ++rounds_done_;
        if (options_.on_round) options_.on_round(rounds_done_, verdict());
        if (rounds_done_ >= options_.rounds || judge_.has_failed()) break;
        const Time round_end = options_.round_ns * rounds_done_;
        run_for(round_end > agenda_.now() ? round_end - agenda_.now() : 0);
        referee_->begin_round(agenda_.now());
        for (const auto& node : nodes_) node->wake_at(agenda_.now());
    }
    network_.heal();
    if (!judge_.has_failed() && !referee_->is_meeting_stuck()) check_silence();
    if (!judge_.has_failed() && plan_.is_closed_by_one) check_closing();
    for (const auto& node : nodes_) node->tell_counters();
    return verdict();
}

Time World::limit() const {
    // Generous bounds: all data over one link, and all timeouts several times over.
    const Time bytes_ns =
        plan_.copy_bytes_max * plan_.steps * plan_.procs() / 1024 * plan_.link.ns_per_kib;
    return 4 * (plan_.peer_timeout_ns + plan_.connect_timeout_ns) + 120 * s + 8 * bytes_ns;
}

void World::step(const AgendaEntry& event) {
    judge_.set_now(event.at);
    ++events_;
    switch (event.kind) {
        case EventKind::wake:
            return nodes_[event.node]->wake();
        case EventKind::settle:
            return nodes_[event.node]->on_settle(event);
        case EventKind::port:
        case EventKind::arrive:
            if (network_.on_event(event)) nodes_[event.node]->wake_at(event.at);
            return;
        case EventKind::forge:
            return network_.forge();
        case EventKind::fault:
            if (event.argument == heal_argument) {
                judge_.tell("the faults end");
                return network_.heal();
            }
            return apply(plan_.faults[event.argument / 2], event.argument % 2 == 0);
    }
}

void World::apply(const PlannedFault& fault, bool is_begin) {
    judge_.tell("fault %d %u %u %s", static_cast<int>(fault.kind), fault.a, fault.b,
                is_begin ? "begins" : "ends");
    if (!is_begin) return network_.end(fault);
    network_.begin(fault);
    if (fault.kind == FaultKind::pause) nodes_[fault.a]->pause(fault.until);
    if (fault.kind == FaultKind::restart) nodes_[fault.a]->restart();
    if (fault.kind == FaultKind::death) nodes_[plan_.node_of(fault.a)]->kill(fault.a);
    if (fault.kind == FaultKind::sever) nodes_[fault.a]->sever(fault.b);
}

bool World::advance() {
    if (judge_.has_failed() || agenda_.is_empty()) return false;
    step(agenda_.take());
    return !judge_.has_failed();
}

void World::run_until_done() {
    const Time rage_end = is_endless() ? 0 : plan_.faults_end;
    const Time deadline = std::max(agenda_.now(), rage_end) + limit();
    const std::uint64_t events_max =
        events_ + events_base_max + events_per_step_max * plan_.steps * plan_.procs();
    while (agenda_.now() < rage_end || !referee_->is_done()) {
        if (!advance()) break;
        if (agenda_.now() > deadline) {
            return judge_.fail("commands do not complete after the end of the faults: " +
                               referee_->unfinished());
        }
        if (events_ > events_max + events_per_forgery_max * network_.counts().forged)
            return judge_.fail("there are too many events: " + referee_->unfinished());
    }
    if (!judge_.has_failed() && !referee_->is_done()) {
        judge_.fail("no event is left, but incomplete: " + referee_->unfinished());
    }
}

void World::run_until_rest() {
    const Time deadline =
        agenda_.now() + rest_limit + plan_.peer_timeout_ns + plan_.connect_timeout_ns;
    const auto is_rest = [this] {
        return std::all_of(nodes_.begin(), nodes_.end(),
                           [](const auto& node) { return node->is_at_rest(); });
    };
    // Rest must last: a node may still report a lost node after a time without traffic.
    do {
        while (!is_rest()) {
            if (agenda_.now() < deadline && advance()) continue;
            if (judge_.has_failed()) return;
            for (const auto& node : nodes_) {
                if (!node->is_at_rest())
                    return judge_.fail("all commands are complete, but " + node->unrest());
            }
        }
        if (!run_for(settle_time)) return;
    } while (!is_rest() && !referee_->is_meeting_stuck());
    for (const auto& node : nodes_) {
        if (const std::string leak = node->leaks(); !leak.empty()) return judge_.fail(leak);
    }
}

bool World::run_for(Time duration) {
    // An event without effect marks the end of the time.
    const Time until = agenda_.now() + duration;
    agenda_.add(until, EventKind::wake, 0, 0);
    while (agenda_.now() < until && advance()) {
    }
    return !judge_.has_failed();
}

void World::check_silence() {
    // Checks that almost no datagrams are sent at rest.
    const std::uint64_t sent = network_.counts().sent;
    std::uint64_t probes = 0;
    for (const auto& node : nodes_) probes += node->counters().path_probes;
    if (!run_for(silence_time)) return;
    for (const auto& node : nodes_) probes -= node->counters().path_probes;
    // Endpoints still send path probes and their acknowledgements, and a node may ping each peer
    // once before it folds the connection.
    const std::uint64_t allowed =
        2 * (0 - probes) + 2 * std::uint64_t{plan_.nodes} * (plan_.nodes - 1);
    if (network_.counts().sent - sent > allowed) {
        judge_.fail(std::to_string(network_.counts().sent - sent) + " datagrams were sent at rest");
    }
}

void World::check_closing() {
    std::vector<std::uint8_t> was_severed;
    for (const auto& node : nodes_) was_severed.push_back(node->is_severed(0) ? 1 : 0);
    // A node that leaves severs all others.
    std::fill(cuts_[0].begin(), cuts_[0].end(), std::uint8_t{1});
    const bool is_restarted = incarnations_[0] != 0;
    nodes_[0]->close();
    if (!run_for(close_time)) return;
    for (NodeId node = 1; node < plan_.nodes; ++node) {
        const bool is_met = nodes_[node]->has_met(0) && nodes_[0]->has_met(node);
        if (!is_met || is_restarted || incarnations_[node] != 0 || was_severed[node] != 0) continue;
        if (!nodes_[node]->is_severed(0) && !nodes_[0]->is_severed(node)) {
            return judge_.fail("node 0 left, and node " + std::to_string(node) +
                               " was not notified");
        }
    }
}

RunVerdict World::verdict() const {
    RunVerdict verdict;
    verdict.violation = judge_.violation();
    verdict.hash = judge_.hash();
    verdict.virtual_ns = agenda_.now();
    verdict.events = events_;
    verdict.work = referee_->counts();
    verdict.network = network_.counts();
    for (const auto& cuts : cuts_) {
        verdict.severed += static_cast<std::uint32_t>(std::count(cuts.begin(), cuts.end(), 1));
    }
    for (const auto& node : nodes_) {
        if (!node->has_started()) continue;
        verdict.retransmitted += node->counters().retransmitted;
        verdict.key_changes += node->counters().key_changes;
        verdict.folded += node->counters().folded;
    }
    return verdict;
}

RunVerdict run_seed(std::uint64_t seed, Scale scale, std::FILE* story) {
    WorldOptions options;
    options.story = story;
    return World(make_plan(seed, scale), options).run();
}

RunVerdict run_seed_twice(std::uint64_t seed, Scale scale) {
    RunVerdict first = run_seed(seed, scale);
    const RunVerdict second = run_seed(seed, scale);
    if (first.is_ok() && (first.hash != second.hash || !second.is_ok())) {
        first.violation = "two runs of the seed differ";
    }
    return first;
}

RunVerdict run_soak(std::uint64_t seed,
                    std::uint32_t rounds,
                    const std::function<void(std::uint32_t, const RunVerdict&)>& on_round) {
    WorldOptions options;
    options.rounds = rounds;
    options.round_ns = soak_round_ns;
    options.on_round = on_round;
    return World(make_soak_plan(seed, rounds), options).run();
}

}  // namespace acp::sim
