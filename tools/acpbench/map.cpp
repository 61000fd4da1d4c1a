// SPDX-License-Identifier: BSD-3-Clause
// Experiment `map`: 1024 inserts and finds of 32-byte keys and values by rank 0, as paper 002
// measured them: on the own process, on another one, and on four, with 128 slots in all; half of
// the finds find nothing. And on the own process once more by a map that begins as small and grows,
// as std::unordered_map does. Beside that, or beside a get of 8 bytes from the farthest process.
// The other ranks sleep.
#include <algorithm>
#include <array>
#include <string>

#include "os/clock.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "map_tables.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t paper_entries = 1024;
constexpr std::size_t paper_slots = 128;

// Where the entries are stored, and what paper 002 measured there.
struct Placement {
    std::string name;
    std::vector<int> ranks;
    double paper_insert_us;
    double paper_find_us;
    bool may_grow = false;
};

class PaperMap {
public:
    PaperMap(const Job& job, const Options& options) : job_(job) {
        slices_ = options.slices != 0 ? options.slices : options.is_quick ? 3 : 30;
        for (std::uint64_t i = 0; i < paper_entries; ++i) {
            keys_[i] = key_of(i);
            values_[i] = key_of(~i);
            wanted_[i] = key_of(i % 2 == 0 ? mixed(i) % paper_entries : paper_entries + i);
        }
    }

    std::vector<Row> run() {
        std::vector<Row> rows;
        const std::vector<Placement> chosen = placements();
        Progress progress("map", static_cast<int>(chosen.size()));
        for (const Placement& placement : chosen) {
            measure(placement, rows);
            progress.step(placement.name);
        }
        return rows;
    }

private:
    // us for each key.
    struct Times {
        std::vector<double> insert, find, insert_many, find_many, assign;
        std::vector<double> insert_yardstick, find_yardstick;
    };

    [[nodiscard]] std::vector<Placement> placements() const {
        std::vector<Placement> chosen = {{"own process", {0}, 56, 56},
                                         {"own process, growing", {0}, 0, 0, true}};
        const auto add_first = [&](bool is_same_node, const char* name) {
            for (int rank = 1; rank < job_.ranks(); ++rank) {
                if ((job_.node_of(rank) == job_.node_of(0)) != is_same_node) continue;
                chosen.push_back(
                    {name, {rank}, is_same_node ? 0.0 : 1031, is_same_node ? 0.0 : 776});
                return;
            }
        };
        add_first(true, "another process of the node");
        add_first(false, "a process of another node");
        if (job_.ranks() >= 4) chosen.push_back({"4 processes", {0, 1, 2, 3}, 811, 618});
        return chosen;
    }

    // A rank of another node that stores entries; -1: all are on the own node.
    [[nodiscard]] int far_rank(const Placement& placement) const {
        for (const int rank : placement.ranks) {
            if (job_.node_of(rank) != job_.node_of(0)) return rank;
        }
        return -1;
    }

    template <typename Each>
    static double us_for_each(const Each& each) {
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < paper_entries; ++i) each(i);
        return static_cast<double>(os::now_ns() - start) / 1e3 / static_cast<double>(paper_entries);
    }

    static acp_map_t create(const Placement& placement) {
        acp_hashed_options_t options{};
        options.ranks = placement.ranks.data();
        options.num_ranks = static_cast<int>(placement.ranks.size());
        options.rank = placement.ranks.front();
        options.num_slots = paper_slots / placement.ranks.size();
        options.is_fixed = placement.may_grow ? 0 : 1;
        const acp_map_t map = acp_create_map_with(&options);
        if (map.ga == ACP_GA_NULL) give_up(acp_error_message());
        return map;
    }

    void measure_one_by_one(const Placement& placement, Times& times) {
        const LibraryMap map(create(placement));
        times.insert.push_back(us_for_each([&](std::uint64_t i) {
            const acp_map_it_t it = acp_insert_map(map.handle(), &keys_[i], sizeof keys_[i],
                                                   &values_[i], sizeof values_[i]);
            if (it.elem == ACP_GA_NULL) give_up(acp_error_message());
        }));
        std::uint64_t hits = 0;
        times.find.push_back(us_for_each([&](std::uint64_t i) {
            const acp_map_ib_t found = acp_find_map(map.handle(), &wanted_[i], sizeof wanted_[i]);
            if (found.success < 0) give_up(acp_error_message());
            hits += static_cast<std::uint64_t>(found.success);
        }));
        if (hits != paper_entries / 2)
            give_up("a find went wrong: " + std::to_string(hits) + " hits");
        (void)acp_destroy_map(map.handle());
    }

    void measure_many(const Placement& placement, Times& times) {
        const acp_map_t map = create(placement);
        for (std::uint64_t i = 0; i < paper_entries; ++i) {
            entries_[i] = {&keys_[i], sizeof keys_[i], &values_[i], sizeof values_[i], 0, 0};
        }
        const auto one_call = [&](const auto& call) {
            const std::uint64_t start = os::now_ns();
            if (call() < 0) give_up(acp_error_message());
            return static_cast<double>(os::now_ns() - start) / 1e3 / double{paper_entries};
        };
        times.insert_many.push_back(
            one_call([&] { return acp_insert_many_map(map, paper_entries, entries_.data()); }));
        for (std::uint64_t i = 0; i < paper_entries; ++i) {
            entries_[i] = {&wanted_[i], sizeof wanted_[i], &found_[i], sizeof found_[i], 0, 0};
        }
        times.find_many.push_back(
            one_call([&] { return acp_find_many_map(map, paper_entries, entries_.data()); }));
        const acp_map_t copy = create(placement);
        times.assign.push_back(one_call([&] { return acp_assign_map(copy, map); }));
        (void)acp_destroy_map(copy);
        (void)acp_destroy_map(map);
    }

    void measure_yardstick(const Placement& placement, Times& times) {
        const int far = far_rank(placement);
        if (far >= 0) {
            std::uint64_t word = 0;
            times.insert_yardstick.push_back(us_for_each([&](std::uint64_t) {
                acp_complete(acp_get(&word, job_.starter_ga(far), sizeof word, ACP_HANDLE_NULL));
            }));
            times.find_yardstick = times.insert_yardstick;
            return;
        }
        StringMap map;
        MapKey value{};
        times.insert_yardstick.push_back(
            us_for_each([&](std::uint64_t i) { map.insert(keys_[i], values_[i]); }));
        times.find_yardstick.push_back(
            us_for_each([&](std::uint64_t i) { (void)map.find(wanted_[i], value); }));
    }

    void measure(const Placement& placement, std::vector<Row>& rows) {
        Times times;
        for (int slice = 0; slice < slices_; ++slice) {
            measure_one_by_one(placement, times);
            measure_yardstick(placement, times);
            measure_many(placement, times);
        }
        rows.push_back(row_of("insert", placement, times.insert, times.insert_yardstick,
                              placement.paper_insert_us));
        rows.push_back(
            row_of("find", placement, times.find, times.find_yardstick, placement.paper_find_us));
        rows.push_back(
            row_of("insert_many", placement, times.insert_many, times.insert_yardstick, 0));
        rows.push_back(row_of("find_many", placement, times.find_many, times.find_yardstick, 0));
        rows.push_back(row_of("assign", placement, times.assign, times.insert_yardstick, 0));
    }

    [[nodiscard]] Row row_of(const std::string& call,
                             const Placement& placement,
                             const std::vector<double>& us,
                             const std::vector<double>& yardstick_us,
                             double paper_us) const {
        Row row;
        row.experiment = "map";
        row.name = call + ", " + placement.name;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.iterations = paper_entries * us.size();
        row.latency_us = summarize(us);
        const bool is_far = far_rank(placement) >= 0;
        row.yardstick = Yardstick{is_far ? "acp_get of 8 bytes" : "std::unordered_map",
                                  median_of(yardstick_us), "us"};
        row.ratio = row.latency_us.median / row.yardstick->value;
        if (paper_us > 0) {
            row.paper = PaperFigure{"paper 002, figure 10", paper_us, "us"};
            row.extra.emplace_back("paper_002_us", paper_us);
        }
        return row;
    }

    const Job& job_;
    int slices_;
    std::array<MapKey, paper_entries> keys_{};
    std::array<MapKey, paper_entries> values_{};
    std::array<MapKey, paper_entries> wanted_{};
    std::array<MapKey, paper_entries> found_{};
    std::array<acp_entry_t, paper_entries> entries_{};
};

}  // namespace

int run_map(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    return finish(call.options, PaperMap(job, call.options).run());
}

}  // namespace acp::bench
