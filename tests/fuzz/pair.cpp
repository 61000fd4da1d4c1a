// SPDX-License-Identifier: BSD-3-Clause
// Two gateways, and a network in which the fuzzer decides which datagram is delivered, lost,
// doubled or damaged, when time passes, and who sends how much. Then the network works, and every
// frame must arrive whole and once, unless one gateway has rightly severed the other: then both
// must learn that. One thread.
#include <deque>

#include "datagram/probe_timer.hpp"

#include "fuzz/fuzz.hpp"
#include "unit/datagram/test_net.hpp"

namespace acp::fuzz {
namespace {

using namespace datagram;
using datagram::testing::address_of;
using datagram::testing::ms;
using datagram::testing::s;

constexpr std::uint32_t send_buffers = 48;
constexpr std::size_t under_way_max = 256;
constexpr int steps_max = 512;
// Between probes; INITs are repeated sooner.
constexpr Time between_tries_max = ProbeTimer::timeout_max_ns;

Settings settings_of(Input& input) {
    Settings settings;
    settings.send_buffers = send_buffers;
    settings.datagram_bytes_max = input.below(2) == 0 ? settings.datagram_bytes : 4000;
    settings.control = input.below(2) == 0 ? base::CongestionAlgorithm::delay
                                           : base::CongestionAlgorithm::new_reno;
    settings.security =
        input.below(4) == 3 ? base::Security::authenticate : base::Security::encrypt;
    settings.key_packets_log2 = 4 + input.below(4);
    settings.first_dsn = input.below(2) == 0 ? 0 : ~0U - 16;
    settings.receive_bytes = std::uint64_t{1} << (16 + input.below(4));
    settings.idle_fold_ns = input.below(2) == 0 ? 0 : s;
    return settings;
}

class Pair {
public:
    explicit Pair(const Settings& settings) : settings_(settings), net_(2, 1, settings) {
        net_.drops = [this](NodeId from, NodeId, Bytes bytes) {
            if (under_way_.size() < under_way_max) {
                under_way_.push_back({from, Datagram(bytes.begin(), bytes.end())});
            }
            return true;
        };
    }

    void submit(NodeId from, std::uint32_t bytes) {
        if (net_[from].is_severed(1 - from)) return;
        const std::uint32_t most = net_[from].frame_bytes_max(1 - from);
        bytes = std::clamp(bytes, testing::frame_head, most);
        if (net_.hosts[from].send(1 - from, sent_[from] + 1, bytes)) ++sent_[from];
    }

    void pass(Time span) {
        net_.now += span;
        time_passed_ += span;
        for (NodeId node = 0; node < 2; ++node) {
            if (net_[node].deadline() <= net_.now) net_[node].on_timer(net_.now);
        }
    }

    void flush(NodeId node) { net_.flush(node); }

    // The fuzzer's action on a datagram in flight.
    void handle(Input& input) {
        if (under_way_.empty()) return;
        const std::size_t which = input.byte() % under_way_.size();
        const auto at = under_way_.begin() + static_cast<std::ptrdiff_t>(which);
        switch (input.below(4)) {
            case 0:
                deliver(*at);
                under_way_.erase(at);
                return;
            case 1:
                deliver(*at);
                return;
            case 2:
                under_way_.erase(at);
                return;
            default: {
                const std::size_t bit = input.take<std::uint16_t>() % (at->bytes.size() * 8);
                at->bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            }
        }
    }

    void deliver_all() {
        for (std::size_t left = under_way_.size(); left > 0 && !under_way_.empty(); --left) {
            deliver(under_way_.front());
            under_way_.pop_front();
        }
    }

    // Lets the network work from now on.
    void finish() {
        net_.drops = {};
        deliver_all();
        const bool is_quiet = net_.settle(120 * s);
        require(is_quiet, "all content is acknowledged in time");
        // Both send a frame, so that each learns the other's state.
        for (NodeId node = 0; node < 2; ++node) submit(node, testing::frame_head);
        require(net_.settle(120 * s), "the last words arrive, or it is clear that they never will");
        const bool is_severed = net_[0].is_severed(1) || net_[1].is_severed(0);
        for (NodeId node = 0; node < 2; ++node) {
            require_content(node, is_severed);
            require(net_[node].free_buffers() == send_buffers, "all buffers come back");
        }
        if (!is_severed) return;
        require(net_[0].is_severed(1) && net_[1].is_severed(0), "both learn that they are apart");
        // The remaining timeout may be too short for another try after the network works again.
        const Time least = std::min(settings_.connect_timeout_ns, settings_.peer_timeout_ns);
        require(time_passed_ + between_tries_max >= least, "no peer gives up before its timeout");
    }

private:
    using Datagram = std::vector<std::byte>;

    struct UnderWay {
        NodeId from = 0;
        Datagram bytes;
    };

    void deliver(const UnderWay& one) {
        Datagram copy = one.bytes;
        net_[1 - one.from].on_datagram(net_.now, address_of(one.from), copy);
    }

    // Checks the content that the other node has sent: all of it, or some of it if they are
    // severed.
    void require_content(NodeId node, bool is_severed) {
        const testing::Host& host = net_.hosts[node];
        require(!host.has_damage, "frames arrive as they were sent");
        for (const auto& [name, times] : host.arrived) {
            require(name >= 1 && name <= sent_[1 - node], "nothing is made up");
            require(times == 1, "nothing arrives twice");
        }
        require(is_severed || host.arrived.size() == sent_[1 - node], "everything arrives");
    }

    Settings settings_;
    testing::Net net_;
    std::deque<UnderWay> under_way_;
    std::array<std::uint64_t, 2> sent_{};
    Time time_passed_ = 0;
};

void step(Pair& pair, Input& input) {
    switch (input.below(8)) {
        case 0:
        case 1:
            return pair.submit(input.below(2), input.take<std::uint16_t>() % 4096);
        case 2:
            return pair.pass(Time{1} << input.below(33));
        case 3:
            return pair.deliver_all();
        case 4:
            return pair.flush(input.below(2));
        default:
            return pair.handle(input);
    }
}

}  // namespace

void run(Input& input) {
    Pair pair(settings_of(input));
    for (int i = 0; i < steps_max && !input.is_empty(); ++i) step(pair, input);
    pair.finish();
}

}  // namespace acp::fuzz
