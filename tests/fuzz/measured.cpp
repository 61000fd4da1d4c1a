// SPDX-License-Identifier: BSD-3-Clause
// The text of measured exchanges, after the text of the network on which they were measured: a line
// of "=" separates both, and without it the network is a small torus. Any input is accepted or
// refused with a message; each accepted exchange has times and either a problem, all of whose
// messages are in the queues, or copies that the simulator carries out. One thread.
#include <cmath>
#include <cstddef>
#include <string_view>

#include "exchange/network_text.hpp"

#include "exchange_study/measured_text.hpp"
#include "fuzz/fuzz.hpp"

namespace acp::fuzz {

using exchange::NetworkModel;
using exchange_study::MeasuredExchange;

namespace {

constexpr std::string_view parting = "\n=\n";
constexpr std::uint32_t nodes_max = 64;  // to bound the time of an input

NetworkModel network_of(std::string_view text) {
    auto read = exchange::network_from_text(text);
    if (read.is_ok() && read.value().nodes <= nodes_max) return std::move(read).value();
    return exchange::network_from_text("torus 5067 3 4").value();
}

void look_at(const MeasuredExchange& measured, const NetworkModel& model) {
    require(!measured.name.empty() && !measured.seen_us.empty(), "a measured exchange has times");
    for (const double time : measured.seen_us)
        require(std::isfinite(time) && time > 0, "times are times");
    require(measured.problem.has_value() == measured.copies.empty(),
            "either all send the same or single nodes");
    if (!measured.problem) {
        const auto times = exchange_study::FluidSimulation(model).run(measured.copies);
        require(times.is_ok() && std::isfinite(times.value().total_us), "copies are carried out");
        return;
    }
    double all = 0;
    double queued = 0;
    for (const auto& message : measured.problem->messages()) all += message.bytes;
    for (const auto& queue : measured.queues.of) {
        for (const auto& piece : queue) queued += piece.bytes;
    }
    require(std::abs(all - queued) <= 1e-9 * all, "every message is queued");
}

}  // namespace

void run(Input& input) {
    std::string_view text = input.text();
    std::string_view network;
    if (const std::size_t at = text.find(parting); at != std::string_view::npos) {
        network = text.substr(0, at);
        text.remove_prefix(at + parting.size());
    }
    const NetworkModel model = network_of(network);
    const auto read = exchange_study::measured_from_text(text, model);
    if (!read.is_ok()) return require(!read.failure().message().empty(), "a refusal has a message");
    for (const MeasuredExchange& measured : read.value()) look_at(measured, model);
}

}  // namespace acp::fuzz
