// SPDX-License-Identifier: BSD-3-Clause
// Checks the settings and makes an endpoint. This is a file of its own so that the interface does
// not know the implementation. One thread.
#include <new>
#include <string>

#include "datagram/endpoint.hpp"
#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {
namespace {

base::Status refuse(const char* what, std::uint64_t value, const char* bounds) {
    return {base::Code::argument, "datagram endpoint: " + std::string(what) + " is " +
                                      std::to_string(value) + ", but must be " + bounds};
}

base::Status check(const Settings& settings) {
    if (settings.nodes < 1) return refuse("nodes", settings.nodes, "at least 1");
    if (settings.node >= settings.nodes) return refuse("node", settings.node, "less than nodes");
    if (settings.datagram_bytes < datagram_bytes_least ||
        settings.datagram_bytes > datagram_bytes_most) {
        return refuse("datagram_bytes", settings.datagram_bytes, "548 .. 65507");
    }
    if (settings.datagram_bytes_max < settings.datagram_bytes ||
        settings.datagram_bytes_max > datagram_bytes_most) {
        return refuse("datagram_bytes_max", settings.datagram_bytes_max, "datagram_bytes .. 65507");
    }
    if (settings.send_buffers < 16 || settings.send_buffers > 1U << 20) {
        return refuse("send_buffers", settings.send_buffers, "16 .. 2^20");
    }
    if (settings.receive_bytes < 65536) {
        return refuse("receive_bytes", settings.receive_bytes, "at least 65536");
    }
    if (settings.half_open_max < 1) return refuse("half_open_max", 0, "at least 1");
    if (settings.key_packets_log2 < 4 || settings.key_packets_log2 > 22) {
        return refuse("key_packets_log2", settings.key_packets_log2, "4 .. 22");
    }
    if (settings.initial_rtt_ns < 1000 || settings.initial_rtt_ns > 10'000'000'000) {
        return refuse("initial_rtt_ns", settings.initial_rtt_ns, "1 us .. 10 s");
    }
    return {};
}

}  // namespace

base::Result<std::unique_ptr<Endpoint>> Endpoint::create(const Settings& settings,
                                                         CipherSuite& suite,
                                                         Entropy& entropy,
                                                         const AddressBook& book,
                                                         EndpointHandler& handler) {
    if (base::Status bad = check(settings); !bad.is_ok()) return bad;
    try {
        std::unique_ptr<Endpoint> endpoint =
            std::make_unique<EndpointMachine>(settings, suite, entropy, book, handler);
        return endpoint;
    } catch (const std::bad_alloc&) {
        return base::Status(base::Code::memory,
                            "datagram endpoint: no memory for its keys and " +
                                std::to_string(settings.send_buffers) + " buffers of " +
                                std::to_string(settings.datagram_bytes_max) + " bytes");
    }
}

}  // namespace acp::datagram
