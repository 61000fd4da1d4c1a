// SPDX-License-Identifier: BSD-3-Clause
// Experiment `map-rate`: how many operations on one map 1 to all ranks do in a second, with keys
// and values of 32 bytes: inserts while the map grows, finds, updates, the mixes of YCSB, one by
// one and in batches. The same is done by rank 0 alone on std::unordered_map and on a flat table,
// in turns with the ranks. All ranks.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>

#include "container_times.hpp"
#include "experiment.hpp"
#include "job.hpp"
#include "map_mix.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_load = 1;
constexpr std::uint32_t order_mix = 2;
constexpr std::uint32_t order_visit = 3;

// What the ranks of a phase need to know, as it travels in an order.
struct Phase {
    acp_map_t map;
    std::uint64_t entries;
    std::uint16_t ranks;       // that work
    std::uint16_t mix;         // order_mix
    std::uint16_t duration;    // order_mix: in ms
    std::uint16_t is_batched;  // order_load
    // number of the phase, a part of the keys that it inserts: no two phases insert the same
    std::uint64_t number;
};

static_assert(sizeof(Phase) <= sizeof(Order::arguments));

// Inserts this rank's part of the keys.
Done load(const Phase& phase, std::uint64_t rank) {
    const LibraryMap map(phase.map);
    const std::uint64_t first = phase.entries * rank / phase.ranks;
    const std::uint64_t end = phase.entries * (rank + 1) / phase.ranks;
    std::array<MapKey, mix_batch> keys{};
    std::array<acp_entry_t, mix_batch> batch{};
    const std::uint64_t start = os::now_ns();
    for (std::uint64_t i = first; i < end && phase.is_batched == 0; ++i)
        map.insert(key_of(i), key_of(~i));
    for (std::uint64_t i = first; i < end && phase.is_batched != 0; i += mix_batch) {
        const std::uint64_t count = std::min(mix_batch, end - i);
        for (std::uint64_t k = 0; k < count; ++k) {
            keys[k] = key_of(i + k);
            batch[k] = {&keys[k], sizeof keys[k], &keys[k], sizeof keys[k], 0, 0};
        }
        if (acp_insert_many_map(phase.map, count, batch.data()) < 0) give_up(acp_error_message());
    }
    return {end - first, os::now_ns() - start};
}

// Finds every key once: then the rank's pages of the table are mapped, as those of the tables are
// that it loaded itself.
Done visit(const Phase& phase) {
    const LibraryMap map(phase.map);
    MapKey value{};
    const std::uint64_t start = os::now_ns();
    for (std::uint64_t i = 0; i < phase.entries; ++i) {
        if (!map.find(key_of(i), value)) give_up("a key is not in the table");
    }
    return {phase.entries, os::now_ns() - start};
}

// A rank's part of a phase. Keeps what takes long to make.
class Worker {
public:
    explicit Worker(const Job& job) : job_(job) {}

    void follow(const Order& order) {
        Phase phase{};
        std::memcpy(&phase, order.arguments, sizeof phase);
        const auto rank = static_cast<std::uint64_t>(job_.rank());
        const bool has_part = rank < phase.ranks;
        const Zipf& zipf = zipf_of(phase.entries);
        sync_all();
        Done done;
        if (has_part && order.what == order_load) done = load(phase, rank);
        if (has_part && order.what == order_visit) done = visit(phase);
        if (has_part && order.what == order_mix) done = mix(phase, rank, zipf);
        RankResult mine{};
        mine.values[0] = done.operations;
        mine.values[1] = done.ns;
        job_.tell(mine);
    }

    const Zipf& zipf_of(std::uint64_t entries) {
        if (zipf_ == nullptr || zipf_entries_ != entries) {
            zipf_ = std::make_unique<Zipf>(entries);
            zipf_entries_ = entries;
        }
        return *zipf_;
    }

private:
    static Done mix(const Phase& phase, std::uint64_t rank, const Zipf& zipf) {
        const Mix which = static_cast<Mix>(phase.mix);
        const std::uint64_t first_new = (phase.number << 40U) + (rank << 32U);
        LibraryMap map(phase.map);
        Mixer mixer(which, zipf, phase.entries, first_new);
        const std::uint64_t duration_ns = std::uint64_t{phase.duration} * 1'000'000;
        return is_batched(which) ? mixer.work_in_batches(map, duration_ns)
                                 : mixer.work(map, duration_ns);
    }

    const Job& job_;
    std::unique_ptr<Zipf> zipf_;
    std::uint64_t zipf_entries_ = 0;
};

// Operations in a us (M/s), slice by slice.
struct Rates {
    std::vector<double> map, strings, flat;
};

class Conductor {
public:
    Conductor(const Job& job, const Options& options)
        : job_(job), is_quick_(options.is_quick), worker_(job) {
        slices_ = options.slices != 0 ? options.slices : is_quick_ ? 1 : 5;
    }

    std::vector<Row> run() {
        std::vector<Row> rows;
        const std::vector<std::uint64_t> sizes = chosen_sizes();
        const std::vector<int> counts = rank_counts();
        Progress progress("map-rate", static_cast<int>(sizes.size() * counts.size() * (mixes + 1)));
        for (const std::uint64_t entries : sizes) {
            for (const int ranks : counts) measure(entries, ranks, rows, progress);
        }
        return rows;
    }

private:
    // Over several nodes 10^6 single inserts take minutes.
    [[nodiscard]] std::vector<std::uint64_t> chosen_sizes() const {
        if (is_quick_) return {2'000};
        if (!job_.is_one_node()) return {100'000};
        return {100'000, 1'000'000};
    }

    // 1, 2, 4, ... and all.
    [[nodiscard]] std::vector<int> rank_counts() const {
        std::vector<int> counts;
        for (int ranks = 1; ranks < job_.ranks(); ranks *= 2) counts.push_back(ranks);
        counts.push_back(job_.ranks());
        return counts;
    }

    // An empty map on the first ranks, which are those that work.
    static acp_map_t create(int ranks) {
        acp_hashed_options_t options{};
        options.num_ranks = ranks;
        const acp_map_t map = acp_create_map_with(&options);
        if (map.ga == ACP_GA_NULL) give_up(acp_error_message());
        return map;
    }

    // M/s of all ranks together.
    double rate_of(std::uint32_t what, const Phase& phase) {
        Order order{what, 0, {}};
        std::memcpy(order.arguments, &phase, sizeof phase);
        job_.give(order);
        worker_.follow(order);
        job_.join();
        double rate = 0;
        for (int rank = 0; rank < phase.ranks; ++rank) {
            const RankResult& its = job_.result(rank);
            rate += rate_of({its.values[0], its.values[1]});
        }
        return rate;
    }

    static double rate_of(const Done& done) {
        return done.ns == 0
                   ? 0
                   : 1e3 * static_cast<double>(done.operations) / static_cast<double>(done.ns);
    }

    template <typename Table>
    static double rate_of_load(Table& table, std::uint64_t entries) {
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < entries; ++i) table.insert(key_of(i), key_of(~i));
        return rate_of({entries, os::now_ns() - start});
    }

    void measure(std::uint64_t entries, int ranks, std::vector<Row>& rows, Progress& progress) {
        StringMap strings;
        FlatTable flat;
        const double strings_rate = rate_of_load(strings, entries);
        const double flat_rate = rate_of_load(flat, entries);
        Phase phase{create(ranks), entries, static_cast<std::uint16_t>(ranks), 0, 0, 0, 0};
        Phase batched = phase;
        batched.map = create(ranks);
        batched.is_batched = 1;
        const double bytes_before = heap_bytes_of_first(ranks);
        rows.push_back(row_of("insert, growing", phase,
                              {{rate_of(order_load, phase)}, {strings_rate}, {flat_rate}}));
        rows.back().extra.emplace_back(
            "bytes_over_payload",
            (heap_bytes_of_first(ranks) - bytes_before) / static_cast<double>(entries) -
                2 * map_key_bytes);
        rows.push_back(row_of("insert_many of 256, growing", phase,
                              {{rate_of(order_load, batched)}, {strings_rate}, {flat_rate}}));
        destroy(batched.map);
        progress.step(rows.back().name);
        (void)rate_of(order_visit, phase);
        for (std::uint64_t mix = 0; mix < mixes; ++mix) {
            phase.mix = static_cast<std::uint16_t>(mix);
            rows.push_back(
                row_of(name_of(static_cast<Mix>(mix)), phase, rates_of(phase, strings, flat)));
            progress.step(rows.back().name);
        }
        destroy(phase.map);
    }

    // Bytes of all blocks in the heaps of the first ranks.
    static double heap_bytes_of_first(int ranks) {
        double bytes = 0;
        for (int rank = 0; rank < ranks; ++rank) bytes += static_cast<double>(heap_bytes_of(rank));
        return bytes;
    }

    static void destroy(acp_map_t map) {
        if (acp_destroy_map(map) != 0) give_up(acp_error_message());
    }

    // A batch is compared with single operations on the other tables.
    Rates rates_of(Phase& phase, StringMap& strings, FlatTable& flat) {
        phase.duration = is_quick_ ? 2 : 40;
        const Mix mix = static_cast<Mix>(phase.mix);
        const std::uint64_t duration_ns = std::uint64_t{phase.duration} * 1'000'000;
        const Zipf& zipf = worker_.zipf_of(phase.entries);
        Rates rates;
        for (int slice = 0; slice < slices_; ++slice) {
            phase.number = ++phases_;
            rates.map.push_back(rate_of(order_mix, phase));
            Mixer on_strings(mix, zipf, phase.entries, phases_ << 40U);
            rates.strings.push_back(rate_of(on_strings.work(strings, duration_ns)));
            Mixer on_flat(mix, zipf, phase.entries, phases_ << 40U);
            rates.flat.push_back(rate_of(on_flat.work(flat, duration_ns)));
        }
        return rates;
    }

    [[nodiscard]] Row row_of(const std::string& what,
                             const Phase& phase,
                             const Rates& rates) const {
        Row row;
        row.experiment = "map-rate";
        row.name = what + ", " + std::to_string(phase.entries) + " entries, " +
                   std::to_string(phase.ranks) + (phase.ranks == 1 ? " rank" : " ranks");
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.iterations = phase.entries;
        std::vector<double> us;
        for (const double rate : rates.map) us.push_back(1 / rate);
        row.latency_us = summarize(std::move(us));
        row.yardstick =
            Yardstick{"std::unordered_map by one rank", median_of(rates.strings), "M/s"};
        row.ratio = median_of(rates.map) / row.yardstick->value;
        row.extra.emplace_back("M/s", median_of(rates.map));
        row.extra.emplace_back("flat_M/s", median_of(rates.flat));
        return row;
    }

    const Job& job_;
    bool is_quick_;
    int slices_;
    Worker worker_;
    std::uint64_t phases_ = 0;
};

}  // namespace

int run_map_rate(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    if (!job.conducts()) {
        Worker worker(job);
        job.follow([&](const Order& order) { worker.follow(order); });
        return 0;
    }
    return finish(call.options, Conductor(job, call.options).run());
}

}  // namespace acp::bench
