// SPDX-License-Identifier: BSD-3-Clause
// A node for tests: a router over arrays. Each process has two segments: a shared one, which
// settles at once, and a private one, which settles later, or has no room, by a seed. Keeps
// completions for the test. Knows how addresses are made. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "router/records.hpp"
#include "router/router.hpp"

#include "support/random.hpp"
#include "unit/router/fake_network.hpp"

namespace acp::router::test {

using base::Code;

inline constexpr std::uint32_t shared_granule = 0;
inline constexpr std::uint32_t private_granule = 8;

// A map with consecutive processes, given by their number on each node.
class FakeMap final : public Map {
public:
    explicit FakeMap(std::vector<std::uint32_t> procs_of_nodes) : first_{0} {
        for (std::uint32_t procs : procs_of_nodes) first_.push_back(first_.back() + procs);
    }

    [[nodiscard]] NodeId node_of(std::uint32_t process) const noexcept override {
        return static_cast<NodeId>(std::upper_bound(first_.begin(), first_.end(), process) -
                                   first_.begin() - 1);
    }

    [[nodiscard]] std::uint32_t first_process(NodeId node) const noexcept override {
        return first_[node];
    }

    [[nodiscard]] std::uint32_t procs() const { return first_.back(); }

    [[nodiscard]] std::uint32_t nodes() const {
        return static_cast<std::uint32_t>(first_.size() - 1);
    }

private:
    std::vector<std::uint32_t> first_;
};

struct MemorySettings {
    std::uint64_t bytes = 1U << 16;  // bytes of each segment
    unsigned refuse_percent = 0;     // share of the accesses to private memory that it refuses
    unsigned later_percent = 0;      // share of the other accesses that settle later
};

// Memory of the processes of one node.
class FakeMemory final : public Placement {
public:
    FakeMemory(const memory::GaLayout& layout,
               const FakeMap& map,
               NodeId node,
               const MemorySettings& settings,
               std::uint64_t seed)
        : layout_(layout),
          first_(map.first_process(node)),
          count_(map.first_process(node + 1) - first_),
          settings_(settings),
          random_(seed),
          bytes_(2 * count_ * settings.bytes) {}

    [[nodiscard]] GlobalAddress address(std::uint32_t process,
                                        bool is_private,
                                        std::uint64_t offset) const {
        return layout_.segment_start(process, is_private ? private_granule : shared_granule, 1) +
               offset;
    }

    // nullptr if the range is not inside one segment.
    [[nodiscard]] std::byte* find(GlobalAddress address, std::uint64_t bytes) {
        const std::uint64_t process = process_of(layout_, address) - first_;
        if (process >= count_ || layout_.generation(address) != 1) return nullptr;
        const bool is_private = is_private_at(address);
        const std::uint64_t offset =
            address - layout_.segment_start(process + first_,
                                            is_private ? private_granule : shared_granule, 1);
        if (offset > settings_.bytes || bytes > settings_.bytes - offset) return nullptr;
        return &bytes_[(2 * process + (is_private ? 1 : 0)) * settings_.bytes + offset];
    }

    Settlement put(GlobalAddress target, std::span<const std::byte> bytes, Ticket ticket) override {
        std::byte* to = find(target, bytes.size());
        if (to == nullptr) return {SettlementState::settled, Code::address};
        const SettlementState progress = choose(target);
        if (progress == SettlementState::refused) return {SettlementState::refused, Code::ok};
        auto kept = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
        return act(progress, ticket, [to, kept] {
            std::copy(kept->begin(), kept->end(), to);
            return std::uint64_t{0};
        });
    }

    Settlement get_now(GlobalAddress source, std::span<std::byte> into) override {
        if (is_private_at(source) && random_.chance(settings_.later_percent)) {
            return {SettlementState::refused, Code::ok};
        }
        const std::byte* from = find(source, into.size());
        if (from == nullptr) return {SettlementState::settled, Code::address};
        std::copy(from, from + into.size(), into.begin());
        return {SettlementState::settled, Code::ok};
    }

    [[nodiscard]] const std::byte* find_lasting(GlobalAddress source,
                                                std::uint64_t bytes) override {
        return is_private_at(source) ? nullptr : find(source, bytes);
    }

    Settlement get(GlobalAddress source, std::span<std::byte> into, Ticket ticket) override {
        const std::byte* from = find(source, into.size());
        if (from == nullptr) return {SettlementState::settled, Code::address};
        const SettlementState progress = choose(source);
        if (progress == SettlementState::refused) return {SettlementState::refused, Code::ok};
        return act(progress, ticket, [from, into] {
            std::copy(from, from + into.size(), into.begin());
            return std::uint64_t{0};
        });
    }

    Settlement run(const memory::Command& command,
                   bool is_value_wanted,
                   std::uint64_t& old,
                   Ticket ticket) override {
        const std::uint64_t bytes = command.is_copy() ? command.bytes : command.width;
        std::byte* source = find(command.source, bytes);
        std::byte* target = is_value_wanted ? source : find(command.target_or_word(), bytes);
        if (source == nullptr || target == nullptr)
            return {SettlementState::settled, Code::address};
        const SettlementState progress = choose(command.source);
        if (progress == SettlementState::refused) return {SettlementState::refused, Code::ok};
        ++runs_;
        return act(
            progress, ticket,
            [=] {
                std::uint64_t before = 0;
                std::memcpy(&before, source, std::min<std::uint64_t>(bytes, 8));
                if (command.is_copy()) {
                    std::memmove(target, source, bytes);
                    return before;
                }
                const std::uint64_t after = before + command.operand;
                if (command.operation == memory::Operation::add) std::memcpy(source, &after, bytes);
                if (!is_value_wanted && command.has_target()) std::memcpy(target, &before, bytes);
                return before;
            },
            &old);
    }

    // Operation 0 is an echo; 1 is refused three times, then an echo; 2 fails; 3 is always refused; 4
    // stores the second word of its arguments at the address that is the first one
    Settlement invoke(std::uint32_t operation,
                      std::uint32_t /*process*/,
                      std::span<const std::byte> arguments,
                      std::span<std::byte> result,
                      std::uint32_t& result_bytes) override {
        if (operation == 3 || (operation == 1 && ++agains_ % 4 != 0)) {
            return {SettlementState::refused, Code::ok};
        }
        if (operation == 2) return {SettlementState::settled, Code::alignment};
        if (operation == 4) {
            std::array<std::uint64_t, 2> store{};
            std::memcpy(store.data(), arguments.data(), sizeof store);
            std::byte* const to = find(store[0], sizeof store[1]);
            if (to == nullptr) return {SettlementState::settled, Code::address};
            std::memcpy(to, &store[1], sizeof store[1]);
            return {SettlementState::settled, Code::ok};
        }
        std::copy(arguments.begin(), arguments.end(), result.begin());
        result_bytes = static_cast<std::uint32_t>(arguments.size());
        return {SettlementState::settled, Code::ok};
    }

    void flush() override {}

    // Settles some of the accepted accesses.
    bool settle_some(Router& router, unsigned percent) {
        const std::size_t count = later_.size();
        for (std::size_t i = 0; i < later_.size();) {
            if (!random_.chance(percent)) {
                ++i;
                continue;
            }
            const Later later = std::move(later_[i]);
            later_.erase(later_.begin() + static_cast<std::ptrdiff_t>(i));
            const std::uint64_t value = later.act();
            router.on_settled(later.ticket, Code::ok, value);
        }
        return count != later_.size();
    }

    [[nodiscard]] bool has_taken() const { return !later_.empty(); }

    [[nodiscard]] std::uint64_t runs() const { return runs_; }

    MemorySettings& settings() { return settings_; }

    template <typename T>
    T& at(GlobalAddress address) {
        return *reinterpret_cast<T*>(find(address, sizeof(T)));
    }

private:
    struct Later {
        Ticket ticket = 0;
        std::function<std::uint64_t()> act;
    };

    [[nodiscard]] bool is_private_at(GlobalAddress address) const {
        return layout_.granule(address) >= private_granule;
    }

    [[nodiscard]] SettlementState choose(GlobalAddress address) {
        if (!is_private_at(address)) return SettlementState::settled;
        if (random_.chance(settings_.refuse_percent)) return SettlementState::refused;
        return random_.chance(settings_.later_percent) ? SettlementState::accepted
                                                       : SettlementState::settled;
    }

    Settlement act(SettlementState progress,
                   Ticket ticket,
                   std::function<std::uint64_t()> action,
                   std::uint64_t* old = nullptr) {
        if (progress == SettlementState::accepted) {
            later_.push_back({ticket, std::move(action)});
            return {SettlementState::accepted, Code::ok};
        }
        const std::uint64_t value = action();
        if (old != nullptr) *old = value;
        return {SettlementState::settled, Code::ok};
    }

    const memory::GaLayout& layout_;
    std::uint32_t first_;
    std::uint32_t count_;
    MemorySettings settings_;
    acp::test::Random random_;
    std::vector<std::byte> bytes_;
    std::vector<Later> later_;
    std::uint64_t runs_ = 0;
    std::uint64_t agains_ = 0;
};

// The completions and losses that the router reported.
class FakeEnds final : public Completions {
public:
    void on_completion(const CommandEnd& completion) override {
        for (std::uint32_t i = 0; i < completion.count; ++i) {
            CommandEnd one = completion;
            one.count = 1;
            one.token += 2ULL * i;
            if (observe) observe(one);
            ended.push_back(one);
        }
        ++calls;
    }

    void on_result(const CommandEnd& completion, std::span<const std::byte> result) override {
        results.emplace_back(completion.token,
                             std::vector<std::byte>(result.begin(), result.end()));
    }

    void on_process_dead(std::uint32_t process, const base::ProcessEnd& end) override {
        dead.emplace_back(process, end);
    }

    void on_node_dead(NodeId node) override { dead_nodes.push_back(node); }

    void on_met(std::uint32_t number, std::span<const std::uint32_t> table) override {
        met.emplace_back(number, std::vector<std::uint32_t>(table.begin(), table.end()));
    }

    std::function<void(const CommandEnd&)> observe;
    std::vector<CommandEnd> ended;
    std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> results;
    std::vector<std::pair<std::uint32_t, base::ProcessEnd>> dead;
    std::vector<NodeId> dead_nodes;
    std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> met;
    std::uint32_t calls = 0;
};

struct FakeNode {
    FakeNode(const RouterSettings& settings,
             const memory::GaLayout& layout,
             const FakeMap& map,
             const MemorySettings& memory_settings,
             std::uint64_t seed)
        : memory(layout, map, settings.node, memory_settings, seed),
          router(settings, layout, map, memory, ends) {}

    FakeMemory memory;
    FakeEnds ends;
    Router router;
};

// Nodes on a network, and their time.
class FakeJob {
public:
    explicit FakeJob(std::vector<std::uint32_t> procs_of_nodes,
                     std::uint64_t seed = 1,
                     const NetworkSettings& network_settings = {},
                     const MemorySettings& memory_settings = {},
                     RouterSettings router_settings = {})
        : map(std::move(procs_of_nodes)),
          layout(map.procs()),
          network(map.nodes(), seed, network_settings) {
        for (NodeId node = 0; node < map.nodes(); ++node) {
            router_settings.node = node;
            router_settings.nodes = map.nodes();
            router_settings.procs = map.procs();
            nodes.push_back(std::make_unique<FakeNode>(router_settings, layout, map,
                                                       memory_settings, seed * 31 + node));
            network.bind(node, nodes.back()->router);
            nodes.back()->router.bind(network.endpoint(node));
        }
    }

    [[nodiscard]] GlobalAddress shared(std::uint32_t process, std::uint64_t offset = 0) const {
        return layout.segment_start(process, shared_granule, 1) + offset;
    }

    [[nodiscard]] GlobalAddress private_at(std::uint32_t process, std::uint64_t offset = 0) const {
        return layout.segment_start(process, private_granule, 1) + offset;
    }

    [[nodiscard]] FakeNode& node_of(std::uint32_t process) { return *nodes[map.node_of(process)]; }

    template <typename T>
    T& at(GlobalAddress address) {
        return node_of(static_cast<std::uint32_t>(process_of(layout, address)))
            .memory.at<T>(address);
    }

    bool copy(std::uint32_t initiator,
              std::uint64_t token,
              GlobalAddress target,
              GlobalAddress source,
              std::uint64_t bytes) {
        Request request{initiator, token, {}};
        request.command.target = target;
        request.command.source = source;
        request.command.bytes = bytes;
        return node_of(initiator).router.submit(now, request);
    }

    bool add(std::uint32_t initiator,
             std::uint64_t token,
             GlobalAddress target,
             GlobalAddress source,
             std::uint64_t operand) {
        Request request{initiator, token, {}};
        request.command.operation = memory::Operation::add;
        request.command.width = 8;
        request.command.target = target;
        request.command.source = source;
        request.command.operand = operand;
        return node_of(initiator).router.submit(now, request);
    }

    // One round of network and nodes; advances the time. true if there was progress.
    bool step() {
        bool is_moved = false;
        for (auto& node : nodes) {
            is_moved = node->memory.settle_some(node->router, 40) || is_moved;
            is_moved = node->router.poll(now) || is_moved;
        }
        is_moved = network.step() || is_moved;
        now += 10'000;
        return is_moved;
    }

    // Makes rounds until there is no progress and no deadline, at most rounds_max. true if it came
    // to rest.
    bool run(std::uint32_t rounds_max = 200'000) {
        for (std::uint32_t round = 0; round < rounds_max; ++round) {
            if (step()) continue;
            Time earliest = datagram::never;
            for (auto& node : nodes) {
                earliest = std::min(earliest, node->router.deadline());
                if (node->memory.has_taken()) earliest = 0;
            }
            if (earliest == datagram::never && network.is_empty()) return true;
            if (earliest != datagram::never) now = std::max(now, earliest);
        }
        return false;
    }

    [[nodiscard]] bool is_idle() const {
        return std::all_of(nodes.begin(), nodes.end(),
                           [](const auto& node) { return node->router.is_idle(); });
    }

    FakeMap map;
    memory::GaLayout layout;
    FakeNetwork network;
    std::vector<std::unique_ptr<FakeNode>> nodes;
    Time now = 1'000'000'000;
};

}  // namespace acp::router::test
