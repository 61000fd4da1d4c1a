// SPDX-License-Identifier: BSD-3-Clause
// Two endpoints with real ciphers over real sockets, and an attacker that copies every datagram of
// a kind and sends the copies from its own socket, before or after the originals. One thread.
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <vector>

#include "crypto/choose.hpp"
#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/wire.hpp"
#include "os/clock.hpp"
#include "os/datagram_socket.hpp"

#include "engine/addresses.hpp"

namespace acp::gateway {
namespace {

using namespace datagram;

constexpr Time second = 1'000'000'000;

os::DatagramSocket open_socket() {
    os::DatagramSocket::Options options;
    options.bind_to = engine::as_socket_address(ipv4(127, 0, 0, 1, 0));
    auto socket = os::DatagramSocket::open(options);
    EXPECT_TRUE(socket.is_ok());
    return std::move(socket).value();
}

struct Side final : EndpointHandler {
    os::DatagramSocket socket = open_socket();
    std::unique_ptr<CipherSuite> suite;
    crypto::SystemEntropy entropy;
    std::unique_ptr<Endpoint> endpoint;
    std::uint32_t arrived = 0;
    std::uint32_t severed = 0;

    void on_frames(NodeId /*from*/, Bytes /*frames*/) override { ++arrived; }

    void on_room(NodeId /*node*/) override {}

    void on_severed(NodeId /*node*/, SeverReason /*reason*/) override { ++severed; }
};

class TwoAddresses final : public AddressBook {
public:
    std::array<Address, 2> addresses;

    [[nodiscard]] std::span<const Address> addresses_of(NodeId node) const noexcept override {
        return {&addresses[node], 1};
    }
};

class CopiesTest : public testing::TestWithParam<std::pair<PacketType, bool>> {
protected:
    void SetUp() override {
        auto batch =
            os::DatagramBatch::create(16, os::DatagramBatch::longest_message, first_datagram_bytes);
        ASSERT_TRUE(batch.is_ok());
        batch_.emplace(std::move(batch).value());
        for (NodeId node = 0; node < 2; ++node) {
            book_.addresses[node] = engine::as_address(sides_[node].socket.address());
        }
        for (NodeId node = 0; node < 2; ++node) {
            auto suite =
                crypto::choose(crypto::CipherWish::automatic, crypto::BackendWish::automatic);
            if (!suite.is_ok()) GTEST_SKIP() << suite.failure().message();
            Side& side = sides_[node];
            side.suite = std::move(suite).value();
            Settings settings;
            settings.job_id = 5;
            settings.node = node;
            settings.nodes = 2;
            auto made = Endpoint::create(settings, *side.suite, side.entropy, book_, side);
            ASSERT_TRUE(made.is_ok()) << made.failure().message();
            side.endpoint = std::move(made).value();
        }
    }

    // Sends a copy of a datagram to its receiver from the attacker's socket.
    void copy(NodeId to, std::span<const std::byte> bytes) {
        ++copied_;
        stranger_.send_burst(engine::as_socket_address(book_.addresses[to]), bytes,
                             static_cast<std::uint32_t>(bytes.size()), true);
    }

    void send_all(NodeId node) {
        Side& side = sides_[node];
        while (true) {
            const Transmit out = side.endpoint->next_transmit(os::now_ns(), buffer_);
            if (out.bytes == 0) return;
            const std::span<const std::byte> burst(buffer_.data(), out.bytes);
            const bool is_of_kind =
                load<OuterHeader>(burst.data()).type == static_cast<std::uint8_t>(GetParam().first);
            const bool is_ahead = GetParam().second;
            if (is_of_kind && is_ahead) copy(1 - node, burst.first(out.segment_bytes));
            side.socket.send_burst(engine::as_socket_address(out.to), burst, out.segment_bytes,
                                   true);
            if (is_of_kind && !is_ahead) copy(1 - node, burst.first(out.segment_bytes));
        }
    }

    void poll() {
        for (NodeId node = 0; node < 2; ++node) {
            Side& side = sides_[node];
            while (side.socket.receive_burst(*batch_) != 0) {
                batch_->for_each([&](const os::SocketAddress& from, std::span<std::byte> bytes) {
                    side.endpoint->on_datagram(os::now_ns(), engine::as_address(from), bytes);
                });
            }
            if (side.endpoint->deadline() <= os::now_ns()) side.endpoint->on_timer(os::now_ns());
            send_all(node);
        }
    }

    void submit(NodeId from) {
        std::byte* frame = sides_[from].endpoint->reserve(1 - from, 100);
        ASSERT_NE(frame, nullptr);
        std::fill_n(frame, 100, std::byte{1});
        sides_[from].endpoint->commit(1 - from, 100);
    }

    std::array<Side, 2> sides_;
    TwoAddresses book_;
    os::DatagramSocket stranger_ = open_socket();
    std::optional<os::DatagramBatch> batch_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(65'536);
    std::uint32_t copied_ = 0;
};

TEST_P(CopiesTest, change_nothing) {
    constexpr std::uint32_t frames = 50;
    const Time begin = os::now_ns();
    for (std::uint32_t i = 1; i <= frames; ++i) {
        submit(0);
        submit(1);
        // Both endpoints have a timeout that severs the peer: it ends the loop, and the test fails.
        while ((sides_[0].arrived < i || sides_[1].arrived < i) &&
               sides_[0].severed + sides_[1].severed == 0) {
            poll();
        }
    }
    EXPECT_EQ(sides_[0].severed + sides_[1].severed, 0U);
    EXPECT_EQ(sides_[0].arrived, frames);
    EXPECT_EQ(sides_[1].arrived, frames);
    const datagram::EndpointCounters& first = sides_[0].endpoint->counters();
    const datagram::EndpointCounters& second_side = sides_[1].endpoint->counters();
    EXPECT_EQ(first.connections + second_side.connections, 2U);
    RecordProperty("copies", static_cast<int>(copied_));
    RecordProperty("seconds", static_cast<int>((os::now_ns() - begin) / second));
}

std::string kind_of(const testing::TestParamInfo<std::pair<PacketType, bool>>& info) {
    constexpr std::array<const char*, 6> names = {"",         "init", "cookie",
                                                  "response", "data", "close"};
    return std::string(names[static_cast<std::size_t>(info.param.first)]) +
           (info.param.second ? "_ahead" : "_behind");
}

INSTANTIATE_TEST_SUITE_P(Live,
                         CopiesTest,
                         testing::Values(std::pair(PacketType::init, true),
                                         std::pair(PacketType::init, false),
                                         std::pair(PacketType::cookie, true),
                                         std::pair(PacketType::response, true),
                                         std::pair(PacketType::response, false),
                                         std::pair(PacketType::data, true),
                                         std::pair(PacketType::data, false)),
                         kind_of);

}  // namespace
}  // namespace acp::gateway
