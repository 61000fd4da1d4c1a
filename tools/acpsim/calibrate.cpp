// SPDX-License-Identifier: BSD-3-Clause
// acpsim calibrate: measured exchanges and a first network from files; prints how well the fitted
// network explains them, and writes that network. Main thread only.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "base/format.hpp"
#include "exchange/network_text.hpp"

#include "commands.hpp"
#include "exchange_study/calibration.hpp"
#include "exchange_study/measured_text.hpp"
#include "files.hpp"

namespace acp::sim_tool {

namespace {

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void print_exchanges(const std::vector<exchange_study::MeasuredExchange>& measured,
                     const exchange_study::Calibration& made) {
    base::Table table({{"exchange", base::Table::Align::left},
                       {"times", base::Table::Align::right},
                       {"mean us", base::Table::Align::right},
                       {"predicted us", base::Table::Align::right},
                       {"error", base::Table::Align::right}});
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const double seen = mean_of(measured[i].seen_us);
        const double predicted = made.predicted_us[i];
        table.add_row({measured[i].name, std::to_string(measured[i].seen_us.size()),
                       decimal(seen, 2), decimal(predicted, 2),
                       decimal(100 * (predicted / seen - 1), 2) + " %"});
    }
    std::fputs(table.text().c_str(), stdout);
}

void print_numbers(const exchange::NetworkModel& first, const exchange_study::Calibration& made) {
    exchange_study::RateVector before = exchange_study::rates_of(first.node);
    exchange_study::RateVector after = exchange_study::rates_of(made.model.node);
    if (first.links.empty()) {
        before[exchange_study::fitted_links] = after[exchange_study::fitted_links] = 0;
    } else {
        before[exchange_study::fitted_links] = first.links.front().rate;
        after[exchange_study::fitted_links] = made.model.links.front().rate;
    }
    base::Table table({{"number", base::Table::Align::left},
                       {"first", base::Table::Align::right},
                       {"fitted", base::Table::Align::right},
                       {"", base::Table::Align::left}});
    for (std::size_t i = 0; i < exchange_study::fitted_rates; ++i) {
        table.add_row({std::string(exchange_study::fitted_rate_names[i]), decimal(before[i], 3),
                       decimal(after[i], 3),
                       made.is_determined[i] ? "" : "no time depends on it: unchanged"});
    }
    std::fputs(table.text().c_str(), stdout);
    std::printf("mean error of a time: %.2f %%\n", 100 * made.error);
}

}  // namespace

int run_calibrate(const Options& options) {
    const auto first = network_in(options.network);
    const auto text = content_of(options.timings);
    if (!first || !text) return 2;
    const auto measured = exchange_study::measured_from_text(*text, *first);
    if (!measured.is_ok()) {
        complain(options.timings, measured.failure().message());
        return 2;
    }
    const auto made = exchange_study::calibrate(*first, measured.value());
    if (!made.is_ok()) {
        complain(options.timings, made.failure().message());
        return 2;
    }
    print_exchanges(measured.value(), made.value());
    std::printf("\n");
    print_numbers(*first, made.value());
    const std::string network = exchange::text_of(made.value().model);
    if (options.output.empty()) {
        std::printf("\n%s", network.c_str());
        return 0;
    }
    std::ofstream file(options.output);
    file << network;
    file.close();
    if (file) return 0;
    complain(options.output, "cannot be written");
    return 1;
}

}  // namespace acp::sim_tool
