// SPDX-License-Identifier: BSD-3-Clause
// The attacker's reactions to datagrams that it sees: copies from another address, as often and as
// early as planned, and the violations that it reports. Main thread only.
#include "sim/attacker.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "datagram/handshake_packets.hpp"
#include "sim/network.hpp"

namespace acp::sim {
namespace {

using datagram::PacketType;

class AttackerTest : public ::testing::Test {
protected:
    AttackerTest() {
        plan_.nodes = 3;
        plan_.attack.copy_ppm = million;
    }

    static std::vector<std::byte> datagram_of(PacketType type, NodeId source) {
        std::vector<std::byte> bytes(128);
        datagram::OuterHeader outer;
        outer.type = static_cast<std::uint8_t>(type);
        outer.source = source;
        datagram::store(bytes.data(), outer);
        return bytes;
    }

    Plan plan_;
    Judge judge_;
    std::vector<Forgery> made_;
};

TEST_F(AttackerTest, copies_handshakes_from_elsewhere_as_often_as_planned) {
    plan_.attack.repeats = 3;
    plan_.attack.repeat_ns = 7 * ms;
    Attacker attacker(plan_, judge_);
    const auto init = datagram_of(PacketType::init, 0);
    attacker.see(ms, 1, 2 * ms, init, made_);
    ASSERT_EQ(made_.size(), 4U);
    for (std::size_t i = 0; i < made_.size(); ++i) {
        EXPECT_EQ(made_[i].bytes, init);
        EXPECT_EQ(made_[i].to, 1U);
        EXPECT_EQ(made_[i].named, 0U);
        EXPECT_EQ(made_[i].at, 2 * ms + i * 7 * ms);
        EXPECT_FALSE(made_[i].from == Network::address_of(0))
            << "the copy is sent from another address than the original";
    }
    made_.clear();
    attacker.see(ms, 1, 2 * ms, datagram_of(PacketType::data, 0), made_);
    EXPECT_TRUE(made_.empty()) << "of data no share is planned";
}

TEST_F(AttackerTest, overtakes_the_original) {
    plan_.attack.overtakes = true;
    Attacker attacker(plan_, judge_);
    attacker.see(ms, 1, 2 * ms, datagram_of(PacketType::response, 0), made_);
    ASSERT_EQ(made_.size(), 1U);
    EXPECT_LT(made_[0].at, 2 * ms);
}

TEST_F(AttackerTest, calls_it_a_violation_when_data_or_questions_come_elsewhere) {
    for (const PacketType type : {PacketType::data, PacketType::init}) {
        Judge judge;
        Attacker attacker(plan_, judge);
        attacker.hear(ms, datagram_of(type, 0), made_);
        EXPECT_TRUE(judge.has_failed());
    }
}

TEST_F(AttackerTest, calls_it_a_violation_when_more_comes_than_was_sent) {
    Attacker attacker(plan_, judge_);
    attacker.hear(ms, datagram_of(PacketType::cookie, 0), made_);
    EXPECT_TRUE(judge_.has_failed());
}

TEST_F(AttackerTest, forges_data_in_the_names_of_others) {
    Attacker attacker(plan_, judge_);
    for (int i = 0; i < 100; ++i) attacker.forge(ms, made_);
    for (const Forgery& forged : made_) {
        EXPECT_NE(forged.to, forged.named);
        EXPECT_LT(forged.to, plan_.nodes);
        EXPECT_EQ(datagram::load<datagram::OuterHeader>(forged.bytes.data()).source, forged.named);
    }
}

TEST_F(AttackerTest, leaves_errors_in_sockets_as_often_as_planned) {
    plan_.attack.icmp_ppm = 250'000;
    Attacker attacker(plan_, judge_);
    int errors = 0;
    for (int i = 0; i < 4000; ++i) errors += attacker.left_over_error() != 0 ? 1 : 0;
    EXPECT_NEAR(errors, 1000, 150);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
