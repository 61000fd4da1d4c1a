// SPDX-License-Identifier: BSD-3-Clause
// A revised simplex method with a dense inverse; one row for each class with bytes. Any thread.
#include "exchange/configuration_program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace acp::exchange {

namespace {

constexpr int pivots_max = 5000;
constexpr double enough = 1e-7;  // relative to the optimum

// Flows that run at once, as rows, and their rates.
struct Configuration {
    unsigned flows = 0;
    std::array<std::uint16_t, engines_max> row{};
    std::array<float, engines_max> rate{};
};

class ConfigurationProgram {
public:
    explicit ConfigurationProgram(const NodeProblem& problem) : problem_(problem) {
        std::vector<double> bytes(problem.classes().size());
        for (const ProblemMessage& message : problem.messages())
            bytes[message.route_class] += message.bytes;
        for (std::size_t c = 0; c < bytes.size(); ++c) {
            if (bytes[c] <= 0) continue;
            classes_.push_back(static_cast<ClassIndex>(c));
            bytes_.push_back(bytes[c]);
        }
    }

    // Whether there are few enough sets.
    [[nodiscard]] bool is_small() const {
        double count = 1;  // counts the multisets of up to that many classes
        for (unsigned e = 1; e <= problem_.engines(); ++e)
            count = count * (static_cast<double>(classes_.size()) + e) / e;
        return count <= static_cast<double>(configurations_max);
    }

    [[nodiscard]] double solve() {
        Configuration none;
        add_larger(none);
        begin();
        double bound = 0;
        for (int pivot = 0; pivot < pivots_max; ++pivot) {
            find_prices();
            double value = 0;
            const Configuration& best = dearest(value);
            double sent = 0;
            for (std::size_t i = 0; i < rows(); ++i) sent += prices_[i] * bytes_[i];
            // By the prices, no set earns more than `value` per microsecond, and all bytes together
            // are worth `sent`.
            bound = std::max(bound, sent / value);
            if (value <= 1 + enough || !enter(best)) break;
        }
        return bound;
    }

private:
    [[nodiscard]] std::size_t rows() const { return classes_.size(); }

    // Adds all sets that start with these flows, followed by rows that are not smaller.
    void add_larger(const Configuration& smaller) {
        if (smaller.flows == problem_.engines()) return;
        const std::uint16_t first = smaller.flows == 0 ? 0 : smaller.row[smaller.flows - 1];
        for (std::size_t row = first; row < rows(); ++row) {
            const auto next = static_cast<std::uint16_t>(row);
            Configuration larger = smaller;
            larger.row[larger.flows++] = next;
            ClassIndex flows[engines_max];
            double rates[engines_max];
            for (unsigned i = 0; i < larger.flows; ++i) flows[i] = classes_[larger.row[i]];
            problem_.share(flows, larger.flows, rates);
            for (unsigned i = 0; i < larger.flows; ++i)
                larger.rate[i] = static_cast<float>(rates[i]);
            all_.push_back(larger);
            add_larger(larger);
        }
    }

    // The first solution: each class alone, one after another.
    void begin() {
        inverse_.assign(rows() * rows(), 0);
        times_.resize(rows());
        prices_.resize(rows());
        step_.resize(rows());
        for (std::size_t i = 0; i < rows(); ++i) {
            const double rate = problem_.classes()[classes_[i]].rate_max;
            inverse_[i * rows() + i] = 1 / rate;
            times_[i] = bytes_[i] / rate;
        }
    }

    // Each set costs its time, so the prices are the column sums of the inverse.
    void find_prices() {
        std::fill(prices_.begin(), prices_.end(), 0.0);
        for (std::size_t i = 0; i < rows(); ++i) {
            for (std::size_t k = 0; k < rows(); ++k) prices_[k] += inverse_[i * rows() + k];
        }
    }

    [[nodiscard]] const Configuration& dearest(double& value) const {
        const Configuration* best = nullptr;
        for (const Configuration& one : all_) {
            double sum = 0;
            for (unsigned i = 0; i < one.flows; ++i) sum += one.rate[i] * prices_[one.row[i]];
            if (best != nullptr && sum <= value) continue;
            best = &one;
            value = sum;
        }
        return *best;
    }

    // Makes the set part of the solution, in place of the set whose time reaches 0 first. False:
    // there is none, which only rounding can cause.
    bool enter(const Configuration& one) {
        std::fill(step_.begin(), step_.end(), 0.0);
        for (std::size_t i = 0; i < rows(); ++i) {
            for (unsigned f = 0; f < one.flows; ++f)
                step_[i] += inverse_[i * rows() + one.row[f]] * one.rate[f];
        }
        std::size_t leaving = rows();
        double time = 1e300;
        for (std::size_t i = 0; i < rows(); ++i) {
            if (step_[i] <= 1e-9 || times_[i] >= time * step_[i]) continue;
            time = std::max(times_[i] / step_[i], 0.0);
            leaving = i;
        }
        if (leaving == rows()) return false;
        double* const pivot_row = &inverse_[leaving * rows()];
        for (std::size_t k = 0; k < rows(); ++k) pivot_row[k] /= step_[leaving];
        for (std::size_t i = 0; i < rows(); ++i) {
            if (i == leaving || step_[i] == 0) continue;
            times_[i] -= time * step_[i];
            for (std::size_t k = 0; k < rows(); ++k)
                inverse_[i * rows() + k] -= step_[i] * pivot_row[k];
        }
        times_[leaving] = time;
        return true;
    }

    const NodeProblem& problem_;
    std::vector<ClassIndex> classes_;  // indexed by row
    std::vector<double> bytes_;        // indexed by row
    std::vector<Configuration> all_;
    std::vector<double> inverse_;  // inverse of the matrix of the solution's sets
    std::vector<double> times_;    // time of each of these sets
    std::vector<double> prices_;   // indexed by row; microseconds per byte
    std::vector<double> step_;
};

}  // namespace

double configuration_bound_us(const NodeProblem& problem) {
    ConfigurationProgram program(problem);
    return program.is_small() ? program.solve() : 0;
}

}  // namespace acp::exchange
