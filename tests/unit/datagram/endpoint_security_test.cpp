// SPDX-License-Identifier: BSD-3-Clause
// The three levels of security: the parts of datagrams that an attacker can read, and the
// changes that are detected; all of them deliver.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

class EndpointSecurity : public ::testing::TestWithParam<base::Security> {};

// With security off no change is detected.
class EndpointIntegrity : public EndpointSecurity {};

Settings settings_of(base::Security security) {
    Settings settings;
    settings.security = security;
    return settings;
}

// WIRE-27
TEST_P(EndpointSecurity, delivers_through_weather) {
    Net net(2, 1, settings_of(GetParam()));
    net.faults.loss = 1000;
    net.faults.doubled = 1000;
    for (std::uint64_t name = 0; name < 500; ++name) {
        ASSERT_TRUE(net.hosts[0].send(1, name, 900));
        ASSERT_TRUE(net.hosts[1].send(0, name, 100));
        if (name % 20 == 0) net.run_for(10 * ms);
    }
    ASSERT_TRUE(net.settle(60 * s));
    EXPECT_EQ(net.hosts[0].arrived.size(), 500U);
    EXPECT_EQ(net.hosts[1].arrived.size(), 500U);
    EXPECT_FALSE(net.hosts[0].has_damage || net.hosts[1].has_damage);
}

// WIRE-27
TEST_P(EndpointSecurity, shows_frames_on_the_wire_unless_it_encrypts) {
    Net net(2, 1, settings_of(GetParam()));
    std::array<std::byte, 8> name{};
    store(name.data(), std::uint64_t{0x1122334455667788});
    bool is_seen = false;
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        is_seen |= std::search(bytes.begin(), bytes.end(), name.begin(), name.end()) != bytes.end();
        return false;
    };
    ASSERT_TRUE(net.hosts[0].send(1, 0x1122334455667788));
    ASSERT_TRUE(net.settle(s));
    EXPECT_EQ(is_seen, GetParam() != base::Security::encrypt);
}

// WIRE-27 WIRE-32
TEST_P(EndpointIntegrity, notices_every_changed_bit) {
    Net net(2, 1, settings_of(GetParam()));
    ASSERT_TRUE(net.hosts[0].send(1, 1));
    ASSERT_TRUE(net.settle(s));
    std::vector<std::byte> data;
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        data.assign(bytes.begin(), bytes.end());
        return true;
    };
    ASSERT_TRUE(net.hosts[0].send(1, 2, 40));
    net.flush(0);
    ASSERT_FALSE(data.empty());
    for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
        std::vector<std::byte> changed = data;
        changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        net[1].on_datagram(net.now, address_of(0), changed);
        ASSERT_EQ(net.hosts[1].arrived.size(), 1U) << "bit " << bit;
    }
    net[1].on_datagram(net.now, address_of(0), data);
    EXPECT_EQ(net.hosts[1].arrived.size(), 2U);
}

std::string level_of(const ::testing::TestParamInfo<base::Security>& tested) {
    switch (tested.param) {
        case base::Security::encrypt:
            return "encrypt";
        case base::Security::authenticate:
            return "authenticate";
        case base::Security::off:
            break;
    }
    return "off";
}

INSTANTIATE_TEST_SUITE_P(Levels,
                         EndpointSecurity,
                         ::testing::Values(base::Security::encrypt,
                                           base::Security::authenticate,
                                           base::Security::off),
                         level_of);

INSTANTIATE_TEST_SUITE_P(Levels,
                         EndpointIntegrity,
                         ::testing::Values(base::Security::encrypt, base::Security::authenticate),
                         level_of);

}  // namespace
}  // namespace acp::datagram::testing
