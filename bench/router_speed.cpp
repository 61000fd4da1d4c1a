// SPDX-License-Identifier: BSD-3-Clause
// What the router costs a small put: two routers over arrays, joined by endpoints that cost
// nothing, so that what is left is turning commands into frames, frames into bytes in place, and
// ends into completions. Each side is timed by itself, interleaved with the bare copy of as many
// words. Prints nanoseconds per put. One thread.
//   usage: router_speed [puts per batch, default 512] [initiators, default 4]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "datagram/handshake_packets.hpp"
#include "router/records.hpp"
#include "router/router.hpp"

namespace {

using acp::datagram::Bytes;
using acp::datagram::NodeId;
using acp::datagram::Time;
using acp::memory::GaLayout;
using acp::memory::GlobalAddress;
using acp::router::CommandEnd;
using acp::router::Settlement;
using acp::router::SettlementState;
using acp::router::Ticket;

constexpr std::uint32_t samples = 2001;
constexpr std::uint32_t datagram_bytes = 1436;
constexpr std::uint64_t memory_bytes = 1U << 18;  // of a process

// Datagrams kept until the other side takes them.
class Wire final : public acp::datagram::Endpoint {
public:
    std::byte* reserve(NodeId /*node*/, std::uint32_t bytes) override {
        if (filled_.empty() || filled_.back() + bytes > datagram_bytes) {
            if (filled_.size() == datagrams_max) return nullptr;
            filled_.push_back(0);
        }
        return &bytes_[(filled_.size() - 1) * datagram_bytes + filled_.back()];
    }

    acp::datagram::MutableBytes reserve_rest(NodeId node, std::uint32_t bytes_min) override {
        std::byte* const at = reserve(node, bytes_min);
        if (at == nullptr) return {};
        return {at, datagram_bytes - filled_.back()};
    }

    void commit(NodeId /*node*/, std::uint32_t bytes) override { filled_.back() += bytes; }

    void commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) override {
        std::memcpy(&bytes_[(filled_.size() - 1) * datagram_bytes + filled_.back() + bytes],
                    tail.data(), tail.size());
        commit(node, bytes + static_cast<std::uint32_t>(tail.size()));
    }

    [[nodiscard]] std::uint32_t frame_bytes_max(NodeId /*node*/) const noexcept override {
        return datagram_bytes;
    }

    void watch(NodeId /*node*/) override {}

    void unwatch(NodeId /*node*/) override {}

    void sever(NodeId /*node*/, acp::datagram::SeverReason /*reason*/) override { std::abort(); }

    [[nodiscard]] bool is_severed(NodeId /*node*/) const noexcept override { return false; }

    [[nodiscard]] std::uint32_t stalled_bytes() const noexcept override { return 0; }

    void close() override {}

    void on_datagram(Time /*now*/,
                     const acp::datagram::Address& /*from*/,
                     acp::datagram::MutableBytes /*bytes*/) override {}

    void on_timer(Time /*now*/) override {}

    [[nodiscard]] Time deadline() const noexcept override { return acp::datagram::never; }

    acp::datagram::Transmit next_transmit(Time /*now*/,
                                          acp::datagram::MutableBytes /*into*/) override {
        return {};
    }

    [[nodiscard]] bool is_quiet() const noexcept override { return filled_.empty(); }

    [[nodiscard]] std::uint32_t free_buffers() const noexcept override { return 1; }

    [[nodiscard]] acp::datagram::Features features() const noexcept override { return {}; }

    [[nodiscard]] acp::datagram::Features differing_features() const noexcept override {
        return {};
    }

    [[nodiscard]] const acp::datagram::EndpointCounters& counters() const noexcept override {
        std::abort();
    }

    [[nodiscard]] bool stats(NodeId /*node*/,
                             acp::datagram::PeerStats& /*stats*/) const noexcept override {
        return false;
    }

    void deliver(NodeId from, acp::router::Router& to) {
        for (std::size_t i = 0; i < filled_.size(); ++i) {
            to.on_frames(from, Bytes(&bytes_[i * datagram_bytes], filled_[i]));
        }
        filled_.clear();
    }

private:
    static constexpr std::size_t datagrams_max = 4096;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(datagrams_max * datagram_bytes);
    std::vector<std::uint32_t> filled_;
};

class EvenMap final : public acp::router::Map {
public:
    explicit EvenMap(std::uint32_t procs_per_node) : procs_(procs_per_node) {}

    [[nodiscard]] NodeId node_of(std::uint32_t process) const noexcept override {
        return process / procs_;
    }

    [[nodiscard]] std::uint32_t first_process(NodeId node) const noexcept override {
        return node * procs_;
    }

private:
    std::uint32_t procs_;
};

// Bounds are checked; a word is moved as one.
class Arrays final : public acp::router::Placement {
public:
    Arrays(const GaLayout& layout, std::uint32_t first, std::uint32_t count)
        : layout_(layout), first_(first), count_(count), bytes_(count * memory_bytes) {}

    Settlement put(GlobalAddress target,
                   std::span<const std::byte> bytes,
                   Ticket /*ticket*/) override {
        return move(target, bytes.size(),
                    [&](std::byte* at) { copy(at, bytes.data(), bytes.size()); });
    }

    Settlement get_now(GlobalAddress source, std::span<std::byte> into) override {
        return move(source, into.size(),
                    [&](std::byte* at) { copy(into.data(), at, into.size()); });
    }

    Settlement get(GlobalAddress source, std::span<std::byte> into, Ticket /*ticket*/) override {
        return get_now(source, into);
    }

    Settlement run(const acp::memory::Command& /*command*/,
                   bool /*is_value_wanted*/,
                   std::uint64_t& /*old*/,
                   Ticket /*ticket*/) override {
        return {};
    }

    Settlement invoke(std::uint32_t /*operation*/,
                      std::uint32_t /*process*/,
                      std::span<const std::byte> /*arguments*/,
                      std::span<std::byte> /*result*/,
                      std::uint32_t& /*result_bytes*/) override {
        return {};
    }

    void flush() override {}

private:
    static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
        if (bytes == 8) {
            std::memcpy(to, from, 8);
        } else {
            std::memcpy(to, from, bytes);
        }
    }

    template <typename Act>
    Settlement move(GlobalAddress address, std::uint64_t bytes, Act act) {
        const std::uint64_t process = acp::router::process_of(layout_, address) - first_;
        const std::uint64_t offset = address & (layout_.granule_bytes() - 1);
        if (process >= count_ || bytes > memory_bytes || offset > memory_bytes - bytes) {
            return {SettlementState::settled, acp::base::Code::address};
        }
        act(&bytes_[process * memory_bytes + offset]);
        return {};
    }

    const GaLayout& layout_;
    std::uint32_t first_;
    std::uint32_t count_;
    std::vector<std::byte> bytes_;
};

class Counted final : public acp::router::Completions {
public:
    void on_completion(const CommandEnd& completion) override { ended += completion.count; }

    void on_result(const CommandEnd& /*completion*/,
                   std::span<const std::byte> /*result*/) override {}

    void on_process_dead(std::uint32_t /*process*/, const acp::base::ProcessEnd& /*end*/) override {
    }

    void on_node_dead(NodeId /*node*/) override {}

    void on_met(std::uint32_t /*number*/, std::span<const std::uint32_t> /*table*/) override {}

    std::uint64_t ended = 0;
};

struct Side {
    Side(NodeId node, std::uint32_t procs_per_node, const GaLayout& layout, const EvenMap& map)
        : arrays(layout, node * procs_per_node, procs_per_node),
          router(
              {.node = node, .nodes = 2, .procs = 2 * procs_per_node}, layout, map, arrays, ends) {
        router.bind(wire);
    }

    Wire wire;
    Arrays arrays;
    Counted ends;
    acp::router::Router router;
};

using Clock = std::chrono::steady_clock;

double per_put(Clock::time_point start, Clock::time_point end, std::uint32_t puts) {
    return std::chrono::duration<double, std::nano>(end - start).count() / puts;
}

void report(const char* what, std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    const std::size_t count = times.size();
    std::printf("%-34s %7.1f ns per put   (quartiles %.1f .. %.1f, %zu samples)\n", what,
                times[count / 2], times[count / 4], times[3 * count / 4], count);
}

}  // namespace

int main(int argc, char** argv) {
    const auto puts = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 512);
    const auto procs = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 4);
    if (puts == 0 || puts > 32768 || procs == 0 || procs > 1024) return 2;
    const EvenMap map(procs);
    const GaLayout layout(std::uint64_t{2} * procs);
    Side near(0, procs, layout, map);
    Side far(1, procs, layout, map);
    std::array<std::vector<double>, 4> times;
    std::vector<std::uint64_t> words(2ULL * puts, 1);
    std::vector<std::uint64_t> tokens(procs, 0);
    for (std::uint32_t sample = 0; sample < samples; ++sample) {
        const Clock::time_point start = Clock::now();
        for (std::uint32_t i = 0; i < puts; ++i) {
            const std::uint32_t initiator = i % procs;
            const std::uint64_t offset = 8ULL * (i % (memory_bytes / 8));
            acp::router::Request request{initiator, tokens[initiator] += 2, {}};
            request.command.target = layout.segment_start(procs + (i + 1) % procs, 0, 1) + offset;
            request.command.source = layout.segment_start(initiator, 0, 1) + offset;
            request.command.bytes = 8;
            if (!near.router.submit(sample, request)) std::abort();
        }
        near.router.poll(sample);
        const Clock::time_point sent = Clock::now();
        near.wire.deliver(0, far.router);
        far.router.poll(sample);
        const Clock::time_point placed = Clock::now();
        far.wire.deliver(1, near.router);
        near.router.poll(sample);
        const Clock::time_point ended = Clock::now();
        for (std::uint32_t i = 0; i < puts; ++i) {
            std::memcpy(&words[puts + i], &words[i], 8);
            asm volatile("" : : "r"(&words[puts + i]) : "memory");
        }
        const Clock::time_point bare = Clock::now();
        times[0].push_back(per_put(start, sent, puts));
        times[1].push_back(per_put(sent, placed, puts));
        times[2].push_back(per_put(placed, ended, puts));
        times[3].push_back(per_put(ended, bare, puts));
    }
    if (near.ends.ended != std::uint64_t{samples} * puts || !near.router.is_idle()) return 1;
    std::printf("8-byte puts, %u in a batch, %u initiators\n", puts, procs);
    report("initiator: command to frame", times[0]);
    report("target: frame to place and end", times[1]);
    report("initiator: end to completion", times[2]);
    report("bare copy of a word", times[3]);
    return 0;
}
