// SPDX-License-Identifier: BSD-3-Clause
// A whole simulated job, from a plan to a verdict. While the faults are active no rule may be
// violated; after they stop all commands must complete; after that no buffer may be held. Knows no
// command line. One thread runs it; several threads may each execute a run.
// Tests: tests/unit/sim/world_test.cpp.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/node.hpp"

namespace acp::sim {

struct RunVerdict {
    std::string violation;   // the first violation; empty: none
    std::uint64_t hash = 0;  // over all events
    Time virtual_ns = 0;
    std::uint64_t events = 0;
    RefereeCounts work;
    NetworkCounts network;
    std::uint32_t severed = 0;  // ordered pairs of nodes, the first of which severed the second
    std::uint64_t retransmitted = 0;
    std::uint64_t key_changes = 0;
    std::uint64_t folded = 0;

    [[nodiscard]] bool is_ok() const noexcept { return violation.empty(); }
};

struct WorldOptions {
    std::FILE* story = nullptr;
    std::uint32_t rounds = 1;  // how often all programs run, one round after the other
    Time round_ns = 0;         // least time from the start of a round to the next
    // Called after each round; may be empty.
    std::function<void(std::uint32_t rounds, const RunVerdict&)> on_round;
};

class World {
public:
    World(const Plan& plan, const WorldOptions& options);
    //   work  programs made by hand, for the plan
    World(const Plan& plan, Workplan work, const WorldOptions& options);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Runs the job to its end.
    RunVerdict run();

    // Runs the job step by step, for tests that inspect it in between: begin() once, then advance()
    // for one event at a time. Both return false at the end of the run.
    bool begin();
    bool advance();

    [[nodiscard]] Time now() const noexcept { return agenda_.now(); }

    [[nodiscard]] Network& network() noexcept { return network_; }

    [[nodiscard]] const Referee& referee() const noexcept { return *referee_; }

    [[nodiscard]] RunVerdict verdict() const;

private:
    class Addresses;
    class Places;

    void step(const AgendaEntry& event);
    void apply(const PlannedFault& fault, bool is_begin);
    void run_until_done();
    void run_until_rest();
    void check_silence();
    void check_closing();
    bool run_for(Time duration);

    [[nodiscard]] bool is_endless() const noexcept { return plan_.faults_end == datagram::never; }

    [[nodiscard]] Time limit() const;

    Plan plan_;
    WorldOptions options_;
    Judge judge_;
    Agenda agenda_;
    Workplan work_;
    std::unique_ptr<Memory> memory_;
    Network network_;
    NonceLedger ledger_;
    std::unique_ptr<Addresses> addresses_;
    std::unique_ptr<Places> places_;
    std::unique_ptr<Referee> referee_;
    std::vector<std::byte> scratch_;
    std::vector<std::vector<std::uint8_t>> cuts_;
    std::vector<std::uint32_t> incarnations_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::uint64_t events_ = 0;
    std::uint32_t rounds_done_ = 0;
};

// Runs one seed once.
[[nodiscard]] RunVerdict run_seed(std::uint64_t seed, Scale scale, std::FILE* story = nullptr);

// Runs one seed twice. It is a violation too if the two runs differ.
[[nodiscard]] RunVerdict run_seed_twice(std::uint64_t seed, Scale scale);

// Runs rounds of one job under faults that heal; each round begins ten virtual seconds after the
// one before.
[[nodiscard]] RunVerdict run_soak(
    std::uint64_t seed,
    std::uint32_t rounds,
    const std::function<void(std::uint32_t, const RunVerdict&)>& on_round);

}  // namespace acp::sim
