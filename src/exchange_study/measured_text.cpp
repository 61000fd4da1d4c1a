// SPDX-License-Identifier: BSD-3-Clause
// Reads one statement after another; an exchange is complete when its times are read. Any thread.
#include "exchange_study/measured_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/parse.hpp"

#include "exchange_study/pattern_text.hpp"
#include "exchange_study/scheduler_table.hpp"

namespace acp::exchange_study {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::array<std::string_view, 7> schedulers = {"RR1", "RR2", "RR4",      "BL1",
                                                        "BL2", "BL4", "hop-aware"};

std::vector<std::string_view> words_in(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(blanks, end);
    }
    return words;
}

std::optional<double> time_in(std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_time = error == std::errc() && end == word.data() + word.size() &&
                         std::isfinite(value) && value > 0 && value <= exchange::cost_us_max;
    return is_time ? std::optional(value) : std::nullopt;
}

class Reader {
public:
    explicit Reader(const exchange::NetworkModel& model) : model_(model) {}

    Status read(std::string_view line) {
        ++line_;
        const auto words = words_in(line);
        if (words.empty()) return {};
        if (words[0] == "exchange") return begin(words);
        if (begun_line_ == 0) return refuse("an exchange begins with \"exchange\"");
        if (words[0] == "took") return end(words);
        if (words[0] == "copy" && scheduler_.empty()) return add_copy(words);
        if (scheduler_.empty()) return refuse("copy SOURCE ENGINE TARGET ENGINE|any BYTES");
        pattern_.append(line).append("\n");
        return {};
    }

    Result<std::vector<MeasuredExchange>> all() {
        if (begun_line_ != 0) {
            return Status(Code::argument, "the exchange of line " + std::to_string(begun_line_) +
                                              " does not end with \"took\"");
        }
        return std::move(all_);
    }

private:
    using Words = std::vector<std::string_view>;

    [[nodiscard]] Status refuse(std::string_view why) const {
        return {Code::argument, "line " + std::to_string(line_) + ": " + std::string(why)};
    }

    Status begin(const Words& words) {
        if (begun_line_ != 0) return refuse("the exchange before has no \"took\"");
        if (all_.size() == measured_exchanges_max) {
            return {Code::limit,
                    "at most " + std::to_string(measured_exchanges_max) + " exchanges are read"};
        }
        const bool is_known = words.size() == 2 && (words[1] == "copies" ||
                                                    std::find(schedulers.begin(), schedulers.end(),
                                                              words[1]) != schedulers.end());
        if (!is_known) return refuse("exchange RR1|RR2|RR4|BL1|BL2|BL4|hop-aware|copies");
        begun_line_ = line_;
        scheduler_ = words[1] == "copies" ? "" : words[1];
        pattern_.clear();
        now_ = {};
        now_.name = "line " + std::to_string(line_) + ", " + std::string(words[1]);
        return {};
    }

    Status add_copy(const Words& words) {
        const auto wrong = [this] { return refuse("copy SOURCE ENGINE TARGET ENGINE|any BYTES"); };
        if (words.size() != 6) return wrong();
        std::array<std::uint64_t, 5> numbers{};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (i == 3 && words[4] == "any") continue;
            const auto number = base::parse_unsigned(words[i + 1]);
            if (!number ||
                *number > (i == 4 ? exchange::message_bytes_max : exchange::model_nodes_max))
                return wrong();
            numbers[i] = *number;
        }
        if (++copies_ > exchange::pattern_messages_max) {
            return {Code::limit, "at most " + std::to_string(exchange::pattern_messages_max) +
                                     " copies are read"};
        }
        const auto node = static_cast<exchange::ModelNode>(numbers[0]);
        const auto engine = static_cast<std::uint32_t>(numbers[1]);
        auto queue = std::find_if(
            now_.copies.begin(), now_.copies.end(),
            [&](const FluidQueue& one) { return one.node == node && one.engine == engine; });
        if (queue == now_.copies.end())
            queue = now_.copies.insert(queue, FluidQueue{node, engine, 0, {}});
        queue->commands.push_back(
            {static_cast<exchange::ModelNode>(numbers[2]),
             words[4] == "any" ? any_receive_engine : static_cast<std::uint32_t>(numbers[3]),
             static_cast<double>(numbers[4])});
        return {};
    }

    Status end(const Words& words) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            const auto time = time_in(words[i]);
            if (!time) return refuse("took MICROSECONDS ...");
            now_.seen_us.push_back(*time);
        }
        times_ += now_.seen_us.size();
        if (now_.seen_us.empty()) return refuse("took MICROSECONDS ...");
        if (times_ > measured_times_max) {
            return {Code::limit,
                    "at most " + std::to_string(measured_times_max) + " times are read"};
        }
        Status status = scheduler_.empty() ? check_copies() : schedule();
        if (!status.is_ok()) {
            return std::move(status).within("the exchange of line " + std::to_string(begun_line_));
        }
        all_.push_back(std::move(now_));
        begun_line_ = 0;
        return {};
    }

    [[nodiscard]] Status check_copies() const {
        if (now_.copies.empty()) return {Code::argument, "nothing was copied"};
        auto times = FluidSimulation(model_).run(now_.copies);
        return times.is_ok() ? Status() : std::move(times).failure();
    }

    Status schedule() {
        auto messages = pattern_from_text(pattern_, model_.torus.size());
        if (!messages.is_ok()) return std::move(messages).failure();
        const std::size_t count = messages.value().size();
        messages_ += count;
        if (count > measured_messages_max || messages_ > all_measured_messages_max) {
            return {Code::limit, "at most " + std::to_string(measured_messages_max) +
                                     " messages of one exchange, and " +
                                     std::to_string(all_measured_messages_max) +
                                     " of all, are scheduled"};
        }
        auto problem = exchange::NodeProblem::symmetric(model_, messages.value());
        if (!problem.is_ok()) return std::move(problem).failure();
        now_.queues = scheduler_named(scheduler_)->schedule(problem.value()).phases.front().queues;
        now_.problem = std::move(problem).value();
        return {};
    }

    const exchange::NetworkModel& model_;
    std::size_t line_ = 0;
    std::size_t begun_line_ = 0;  // line of the current exchange; 0: none
    std::string scheduler_;       // "": an exchange of single copies
    std::string pattern_;         // its statements of the pattern
    MeasuredExchange now_;
    std::vector<MeasuredExchange> all_;
    std::size_t times_ = 0;
    std::size_t copies_ = 0;
    std::size_t messages_ = 0;  // messages that schedulers queue
};

}  // namespace

Result<std::vector<MeasuredExchange>> measured_from_text(std::string_view text,
                                                         const exchange::NetworkModel& model) {
    Reader reader(model);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        Status status = reader.read(text.substr(0, end));
        if (!status.is_ok()) return status;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return reader.all();
}

}  // namespace acp::exchange_study
