// SPDX-License-Identifier: BSD-3-Clause
// Chooses the ranks, takes turns with the yardsticks, and makes rows.
#include "container_times.hpp"

#include <algorithm>
#include <cstring>

#include <acp.h>

#include "output.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_pass = 1;

// What the ranks of a phase need to know, as it travels in an order.
struct Phase {
    acp_ga_t container;
    std::uint64_t kind;   // index
    std::uint64_t ranks;  // that work
    std::uint64_t duration_ns;
};

static_assert(sizeof(Phase) <= sizeof(Order::arguments));

double rate_of(std::uint64_t operations, std::uint64_t ns) {
    return ns == 0 ? 0 : 1e3 * static_cast<double>(operations) / static_cast<double>(ns);
}

// Calls pass() for so long. M/s.
template <typename Pass>
double rate_of_passes(std::uint64_t duration_ns, const Pass& pass) {
    const std::uint64_t start = os::now_ns();
    std::uint64_t count = 0;
    std::uint64_t now = start;
    while (now - start < duration_ns) {
        for (int i = 0; i < 16; ++i) pass();
        count += 16;
        now = os::now_ns();
    }
    return rate_of(count, now - start);
}

class ContainerMeter {
public:
    ContainerMeter(Job& job, const Options& options, const std::vector<ContainerKind>& kinds)
        : job_(job), kinds_(kinds), is_quick_(options.is_quick) {
        slices_ = options.slices != 0 ? options.slices : is_quick_ ? 2 : 15;
    }

    std::vector<Row> run() {
        std::vector<Row> rows;
        const std::vector<int> owners = chosen_owners();
        const std::vector<int> counts = rank_counts();
        Progress progress(kinds_.front().experiment,
                          static_cast<int>(kinds_.size() * (owners.size() + counts.size())));
        for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
            for (const int owner : owners) {
                measure(kinds_[kind], owner, rows);
                progress.step(place_of(owner));
            }
            for (const int ranks : counts) {
                measure_together(kind, ranks, rows);
                progress.step(rows.back().name);
            }
        }
        return rows;
    }

    void follow(const Order& order) const {
        Phase phase{};
        std::memcpy(&phase, order.arguments, sizeof phase);
        sync_all();
        RankResult mine{};
        if (static_cast<std::uint64_t>(job_.rank()) < phase.ranks) {
            const ContainerKind& kind = kinds_[phase.kind];
            const double rate =
                rate_of_passes(phase.duration_ns, [&] { kind.pass(phase.container); });
            std::memcpy(mine.values, &rate, sizeof rate);
        }
        job_.tell(mine);
    }

private:
    // Rank 0, another rank of its node, and one of another node.
    [[nodiscard]] std::vector<int> chosen_owners() const {
        std::vector<int> owners = {0};
        for (const bool is_same_node : {true, false}) {
            for (int rank = 1; rank < job_.ranks(); ++rank) {
                if (is_near(rank) != is_same_node) continue;
                owners.push_back(rank);
                break;
            }
        }
        return owners;
    }

    // 1, 2, 4, ... and all.
    [[nodiscard]] std::vector<int> rank_counts() const {
        std::vector<int> counts;
        for (int ranks = 1; ranks < job_.ranks(); ranks *= 2) counts.push_back(ranks);
        counts.push_back(job_.ranks());
        return counts;
    }

    [[nodiscard]] bool is_near(int rank) const { return job_.node_of(rank) == job_.node_of(0); }

    [[nodiscard]] std::string place_of(int owner) const {
        if (owner == 0) return "own process";
        return is_near(owner) ? "another process of the node" : "a process of another node";
    }

    [[nodiscard]] double us_of_copy(int owner) const {
        constexpr std::uint64_t copies = 200;
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < copies; ++i) {
            acp_complete(acp_copy(job_.starter_ga(0), job_.starter_ga(owner), 8, ACP_HANDLE_NULL));
        }
        return static_cast<double>(os::now_ns() - start) / 1e3 / static_cast<double>(copies);
    }

    void measure(const ContainerKind& kind, int owner, std::vector<Row>& rows) const {
        CallTimes times;
        CallTimes beside;
        std::vector<double> copy_us;
        const std::uint64_t elements = is_quick_ ? 100 : is_near(owner) ? 2'000 : 500;
        for (int slice = 0; slice < slices_; ++slice) {
            kind.run(owner, elements, times);
            if (is_near(owner)) {
                kind.run_beside(elements, beside);
            } else {
                copy_us.push_back(us_of_copy(owner));
            }
        }
        for (const CallTimes::Call& call : times.calls()) {
            Row row = row_of(kind, kind.name + ", " + call.name + ", " + place_of(owner), call.us);
            row.iterations = elements * call.us.size();
            const bool is_near_one = is_near(owner);
            row.yardstick =
                Yardstick{is_near_one ? kind.yardstick : "acp_copy of 8 bytes",
                          median_of(is_near_one ? beside.us_of(call.name) : copy_us), "us"};
            row.ratio = row.latency_us.median / row.yardstick->value;
            rows.push_back(std::move(row));
        }
    }

    // All ranks at once put elements at one end of one container and take them from the other.
    void measure_together(std::size_t kind, int ranks, std::vector<Row>& rows) const {
        const ContainerKind& its = kinds_[kind];
        Phase phase{its.make(0), kind, static_cast<std::uint64_t>(ranks),
                    is_quick_ ? 2'000'000U : 40'000'000U};
        std::vector<double> us;
        std::vector<double> rates;
        std::vector<double> beside;
        for (int slice = 0; slice < slices_; ++slice) {
            Order order{order_pass, 0, {}};
            std::memcpy(order.arguments, &phase, sizeof phase);
            job_.give(order);
            follow(order);
            job_.join();
            double rate = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                double one = 0;
                std::memcpy(&one, job_.result(rank).values, sizeof one);
                rate += one;
            }
            rates.push_back(rate);
            us.push_back(1 / rate);
            beside.push_back(rate_of_passes(phase.duration_ns, its.pass_beside));
        }
        its.destroy(phase.container);
        Row row = row_of(its,
                         its.name + ", an element in and one out, " + std::to_string(ranks) +
                             (ranks == 1 ? " rank" : " ranks"),
                         us);
        row.yardstick = Yardstick{its.yardstick + " by one rank", median_of(beside), "M/s"};
        row.ratio = median_of(rates) / row.yardstick->value;
        row.extra.emplace_back("M/s", median_of(rates));
        rows.push_back(std::move(row));
    }

    [[nodiscard]] Row row_of(const ContainerKind& kind,
                             const std::string& name,
                             std::vector<double> us) const {
        Row row;
        row.experiment = kind.experiment;
        row.name = name;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.iterations = us.size();
        row.latency_us = summarize(std::move(us));
        return row;
    }

    Job& job_;
    const std::vector<ContainerKind>& kinds_;
    bool is_quick_;
    int slices_;
};

}  // namespace

std::vector<double> CallTimes::us_of(const std::string& call) const {
    for (const Call& one : calls_) {
        if (one.name == call) return one.us;
    }
    return {};
}

void CallTimes::add(const std::string& call, double us) {
    const auto known = std::find_if(calls_.begin(), calls_.end(),
                                    [&](const Call& one) { return one.name == call; });
    if (known != calls_.end()) {
        known->us.push_back(us);
    } else {
        calls_.push_back({call, {us}});
    }
}

std::uint64_t heap_bytes_of(int rank) {
    acp_heap_stat_t stat{};
    if (acp_heap_stat(rank, &stat) != 0) give_up(acp_error_message());
    return stat.allocated;
}

std::vector<Row> measure_container_kinds(Job& job,
                                         const Options& options,
                                         const std::vector<ContainerKind>& kinds) {
    ContainerMeter meter(job, options, kinds);
    if (job.conducts()) return meter.run();
    job.follow([&](const Order& order) { meter.follow(order); });
    return {};
}

}  // namespace acp::bench
