// SPDX-License-Identifier: BSD-3-Clause
// Runs the experiments on the modelled link. One thread.
#include "sim/share.hpp"

#include <array>
#include <cstdio>

#include "sim/link_model.hpp"

namespace acp::sim {

namespace {

struct Path {
    const char* name;
    double bytes_per_ns;
    Time base_rtt_ns;
    Time settle_ns;
    Time measure_ns;
};

constexpr std::array paths{Path{"100 Mb/s, 10 ms", 0.0125, 10 * ms, 20 * s, 120 * s},
                           Path{"1 Gb/s, 1 ms", 0.125, 1 * ms, 4 * s, 16 * s},
                           Path{"10 Gb/s, 100 us", 1.25, 100 * us, 100 * ms, 200 * ms}};
constexpr std::array depths{0.25, 1.0, 4.0};
constexpr std::uint32_t short_queue = 4;  // packets

LinkSettings settings_of(const Path& path, base::CongestionAlgorithm control) {
    LinkSettings settings;
    settings.control = control;
    settings.bytes_per_ns = path.bytes_per_ns;
    settings.base_rtt_ns = path.base_rtt_ns;
    settings.credit_datagrams = 1U << 20;
    return settings;
}

ShareRow beside_tcp(const Path& path, base::CongestionAlgorithm control, double depth) {
    LinkSettings settings = settings_of(path, control);
    settings.rivals = 1;
    settings.queue_bytes = static_cast<std::uint64_t>(depth * path.bytes_per_ns *
                                                      static_cast<double>(path.base_rtt_ns));
    LinkModel link(settings);
    link.run_until(path.settle_ns);
    link.measure_from_here();
    link.run_until(path.settle_ns + path.measure_ns);
    char what[64];
    std::snprintf(what, sizeof what, "share beside TCP, queue %.2f of the path", depth);
    return {path.name, what, link.share_beside_rivals(), 0.5, 2};
}

ShareRow alone(const Path& path, base::CongestionAlgorithm control) {
    LinkSettings settings = settings_of(path, control);
    settings.queue_bytes = std::uint64_t{short_queue} * settings.datagram_bytes;
    LinkModel link(settings);
    link.run_until(path.settle_ns + path.measure_ns);
    return {path.name, "loss alone, queue of 4 packets", link.loss(), 0, 0.02};
}

ShareRow longer(base::CongestionAlgorithm control, Time base_rtt_ns) {
    LinkSettings settings = settings_of({"", 0.125, 20 * us, 0, 0}, control);
    settings.queue_bytes = 8U << 20;
    LinkModel link(settings);
    link.run_until(500 * ms);
    link.set_base_rtt(base_rtt_ns);
    link.run_until(1'000 * ms);
    link.measure_from_here();
    link.run_until(2'500 * ms);
    return {"1 Gb/s, 20 us", "use after it became " + std::to_string(base_rtt_ns / ms) + " ms",
            link.utilisation(), 0.8, 1.01};
}

}  // namespace

std::vector<ShareRow> run_share(base::CongestionAlgorithm control) {
    std::vector<ShareRow> rows;
    for (const Path& path : paths) {
        for (const double depth : depths) rows.push_back(beside_tcp(path, control, depth));
        rows.push_back(alone(path, control));
    }
    rows.push_back(longer(control, 2 * ms));
    rows.push_back(longer(control, 20 * ms));
    return rows;
}

}  // namespace acp::sim
