// SPDX-License-Identifier: BSD-3-Clause
// Two networks of a test's own, each with one Ethernet device, joined by a wire that can be cut:
// the hosts "left" and "right" of a job started through tests/faults/enter_network. Made of the
// kernel's network namespaces and a veth pair, without any name on this machine; gone with the
// object and the last process inside. Takes root. Knows nothing of jobs. One driver thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace acp::test {

class JoinedNetworks {
public:
    static constexpr int sides = 2;
    static constexpr std::array<const char*, sides> names = {"left", "right"};
    static constexpr std::array<const char*, sides> addresses = {"10.79.0.1", "10.79.0.2"};

    ~JoinedNetworks();
    JoinedNetworks(const JoinedNetworks&) = delete;
    JoinedNetworks& operator=(const JoinedNetworks&) = delete;

    // Makes both, with both devices up.
    //   why_not  set when there are none: what the kernel refused
    //   bridges  how many bridges each gets before its device: 172.17.0.1, 172.18.0.1 and on in
    //            both, as Docker makes them
    static std::unique_ptr<JoinedNetworks> create(std::string& why_not, int bridges = 0);

    // The environment of a process that enters one of the networks: "TEST_NETWORK_left=/proc/...",
    // one per side.
    [[nodiscard]] std::vector<std::string> environment() const;

    // Sets the device of one side up or down. While one is down the wire carries nothing.
    void set_up(int side, bool is_up);
    void set_mtu(int side, std::uint32_t bytes);

    // Sockets that live in either network, as lines of text: kind and name or address.
    [[nodiscard]] std::vector<std::string> sockets() const;

private:
    struct Side;  // one network, seen from outside

    JoinedNetworks();
    std::string make(Side& side, int bridges);
    std::string join();

    std::vector<Side> all_;
};

}  // namespace acp::test
