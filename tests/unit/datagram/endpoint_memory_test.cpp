// SPDX-License-Identifier: BSD-3-Clause
// Allocations of two gateways are refused at their first contact, each one in turn and many in a
// row: they connect once allocations succeed, since a failed call leaves the state unchanged, its
// alarms included.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <vector>

#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/wire.hpp"

#include "support/refuse_memory.hpp"
#include "support/test_cipher.hpp"

namespace acp::datagram::testing {
namespace {

constexpr Time second = 1'000'000'000;
constexpr Time ask_again = second / 2;  // as the router does
constexpr std::array<Address, 2> places = {ipv4(10, 0, 0, 1, 7000), ipv4(10, 0, 0, 2, 7000)};

class Book final : public AddressBook {
public:
    [[nodiscard]] std::span<const Address> addresses_of(NodeId node) const noexcept override {
        return {&places[node], 1};
    }
};

// Refuses `count` allocations from number `first` on, of endpoints alone.
class Want {
public:
    Want(std::uint64_t first, std::uint64_t count) : first_(first), left_(count) {}

    template <typename Call>
    void during(Call call) {
        const test::Refusal refusal(left_ == 0 ? 0 : first_, left_);
        try {
            call();
        } catch (const std::bad_alloc&) {
            // A gateway's timer repeats the work.
        }
        note(test::Refusal::seen());
    }

    [[nodiscard]] bool is_over() const noexcept { return left_ == 0; }

private:
    void note(std::uint64_t requests) noexcept {
        if (requests < first_) {
            first_ -= requests;
            return;
        }
        left_ -= std::min(left_, requests - first_ + 1);
        first_ = 1;
    }

    std::uint64_t first_;
    std::uint64_t left_;
};

struct Host final : EndpointHandler {
    std::unique_ptr<Endpoint> endpoint;
    NodeId other = 0;
    int came = 0;
    int severed = 0;
    bool has_sent = false;
    Time ask_at = 0;

    void on_frames(NodeId /*from*/, Bytes /*frames*/) override { ++came; }

    void on_room(NodeId /*node*/) override { ask_at = 0; }

    void on_severed(NodeId /*node*/, SeverReason /*reason*/) override { ++severed; }

    // One frame, when there is room for it.
    void send(Time now) {
        if (has_sent || now < ask_at) return;
        ask_at = now + ask_again;
        std::byte* const frame = endpoint->reserve(other, 1);
        if (frame == nullptr) return;
        *frame = std::byte{7};
        endpoint->commit(other, 1);
        has_sent = true;
    }
};

class Pair {
public:
    Pair() : into_(65536) {
        for (NodeId node = 0; node < 2; ++node) {
            Settings settings;
            settings.job_id = 77;
            settings.node = node;
            settings.nodes = 2;
            settings.connect_timeout_ns = 600 * second;  // how long memory is wanting is no matter
            hosts[node].other = 1 - node;
            entropy_[node] = std::make_unique<test::TestEntropy>(node + 1);
            auto made = Endpoint::create(settings, suite_, *entropy_[node], book_, hosts[node]);
            hosts[node].endpoint = std::move(made).value();
        }
    }

    // Until each has what the other sent; no datagram is lost. false: they wait for ever.
    bool run(Want& want) {
        for (int steps = 0; steps < 100'000 && now_ < 600 * second; ++steps) {
            for (NodeId node = 0; node < 2; ++node) poll(node, want);
            if (is_met()) return true;
            Time next = now_ + ask_again;
            for (const Host& host : hosts) next = std::min(next, host.endpoint->deadline());
            now_ = std::max(now_ + 1, next);
        }
        return false;
    }

    [[nodiscard]] bool is_met() const noexcept {
        return hosts[0].came == 1 && hosts[1].came == 1 && hosts[0].endpoint->is_quiet() &&
               hosts[1].endpoint->is_quiet();
    }

private:
    void poll(NodeId node, Want& want) {
        Host& host = hosts[node];
        want.during([&] {
            if (host.endpoint->deadline() <= now_) host.endpoint->on_timer(now_);
        });
        want.during([&] { host.send(now_); });
        for (;;) {
            Transmit out;
            want.during([&] { out = host.endpoint->next_transmit(now_, into_); });
            if (out.bytes == 0) return;
            for (std::uint32_t at = 0; at < out.bytes; at += out.segment_bytes) {
                const MutableBytes datagram(into_.data() + at,
                                            std::min(out.segment_bytes, out.bytes - at));
                want.during(
                    [&] { hosts[host.other].endpoint->on_datagram(now_, places[node], datagram); });
            }
        }
    }

    test::TestSuite suite_;
    Book book_;
    std::array<std::unique_ptr<test::TestEntropy>, 2> entropy_;
    std::vector<std::byte> into_;
    Time now_ = second;

public:
    std::array<Host, 2> hosts;  // behind what their endpoints use to the last
};

TEST(EndpointMemory, gateways_refused_memory_at_first_contact_meet_when_there_is_some) {
    for (const std::uint64_t count : {1U, 2U, 5U, 10U, 50U}) {
        for (std::uint64_t first = 1; first <= 40; ++first) {
            Want want(first, count);
            Pair pair;
            EXPECT_TRUE(pair.run(want)) << "from request " << first << " on, " << count;
            EXPECT_EQ(pair.hosts[0].severed + pair.hosts[1].severed, 0);
        }
    }
}

TEST(EndpointMemory, a_gateway_that_severs_without_memory_reports_it) {
    Pair pair;
    Want want(1, 1000);
    want.during([&] { pair.hosts[0].endpoint->sever(1); });
    EXPECT_TRUE(pair.hosts[0].endpoint->is_severed(1));
    EXPECT_EQ(pair.hosts[0].endpoint->deadline(), 0U);
    want.during([&] { pair.hosts[0].endpoint->on_timer(second); });
    EXPECT_EQ(pair.hosts[0].severed, 1);
    EXPECT_FALSE(want.is_over());
}

}  // namespace
}  // namespace acp::datagram::testing
