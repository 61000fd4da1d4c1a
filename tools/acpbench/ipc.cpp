// SPDX-License-Identifier: BSD-3-Clause
// Experiment `ipc`: messages there and back between two processes, each of them a rank or the
// process of a device, as paper 004 measured its host and its vector engine: by named pipes, message
// queues, sockets, and by ACP. The bandwidth is that of both messages. A message is written by its
// sender and read by its receiver within the time; a further figure says how much that takes alone.
// Rank 0 conducts; rank 1 is the other host process.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "os/clock.hpp"

#include <acp.h>

#include "experiment.hpp"
#include "ipc_exchanges.hpp"
#include "output.hpp"
#include "paper.hpp"

namespace acp::bench {

namespace {

constexpr std::array<std::uint64_t, 9> ipc_sizes{128,     1 << 10, 8 << 10,  64 << 10,   256 << 10,
                                                 1 << 20, 4 << 20, 16 << 20, 100'000'000};
constexpr std::uint64_t quick_bytes_max = 1 << 20;
constexpr std::uint64_t bandwidth_from_bytes = 4 << 10;

struct IpcColumn {
    IpcPlace place;
    const char* experiment;
    const char* name;
};

constexpr std::array<IpcColumn, 4> columns{{{IpcPlace::host_host, "ipc-hh", ", HH"},
                                            {IpcPlace::host_device, "ipc-hd", ", HD"},
                                            {IpcPlace::device_host, "ipc-dh", ", DH"},
                                            {IpcPlace::device_device, "ipc-dd", ", DD"}}};

struct SystemWay {
    IpcWay way;
    const char* name;
};

constexpr std::array<SystemWay, 4> system_ways{{{IpcWay::fifo, "FIFO"},
                                                {IpcWay::queue, "POSIX message queue"},
                                                {IpcWay::local_socket, "Unix domain socket"},
                                                {IpcWay::tcp, "TCP"}}};

// The times of one way between two columns, of all passes.
struct Cell {
    const IpcColumn* column;
    std::string name;
    IpcExchanges::Times times_ns;
    std::uint64_t messages = 2;  // that each time is the time of
    bool is_of_system = false;
};

class Ipc {
public:
    Ipc(Job& job, const Options& options, IpcExchanges& exchanges)
        : job_(job), options_(options), exchanges_(exchanges) {}

    std::vector<Row> run(const std::vector<std::uint64_t>& sizes) {
        Progress progress("ipc", static_cast<int>(sizes.size()));
        std::vector<Row> rows;
        for (const std::uint64_t bytes : sizes) {
            measure(bytes, rows);
            progress.step(std::to_string(bytes) + " bytes");
        }
        std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return std::tie(a.experiment, a.name) < std::tie(b.experiment, b.name);
        });
        return rows;
    }

private:
    // About 32 MiB of messages a pass, or some milliseconds of short ones.
    [[nodiscard]] std::uint64_t rounds_of(std::uint64_t bytes) const {
        constexpr std::uint64_t bytes_of_a_pass = 32 << 20;
        const std::uint64_t most = options_.is_quick ? 20 : 1000;
        return std::clamp(bytes_of_a_pass / bytes, std::uint64_t{2}, most);
    }

    [[nodiscard]] int passes() const {
        return options_.slices > 0 ? options_.slices : options_.is_quick ? 1 : 3;
    }

    // Runs all ways in turn, several times, so that a disturbance slows all of them.
    void measure(std::uint64_t bytes, std::vector<Row>& rows) {
        std::vector<Cell> cells;
        IpcExchanges::Times touching;
        IpcExchanges::Times copying;
        for (int pass = 0; pass < passes(); ++pass) {
            std::size_t next = 0;
            const auto note = [&](const IpcColumn& column, std::string name,
                                  const IpcExchanges::Times& times, bool is_of_system,
                                  std::uint64_t messages = 2) {
                if (pass == 0)
                    cells.push_back({&column, std::move(name), {}, messages, is_of_system});
                add_all_but_first(times, cells[next++].times_ns);
            };
            for (const IpcColumn& column : columns) measure_column(column, bytes, note);
            add_all_but_first(touch(bytes), touching);
            add_all_but_first(copy_memory(bytes), copying);
        }
        const double touch_us = median_us(touching);
        for (const Cell& cell : cells)
            rows.push_back(row_of(cell, bytes, cells, touch_us, median_us(copying)));
    }

    template <typename Note>
    void measure_column(const IpcColumn& column, std::uint64_t bytes, const Note& note) {
        const std::uint64_t rounds = rounds_of(bytes);
        for (const SystemWay& its : system_ways) {
            note(column, its.name, exchanges_.by_system(column.place, its.way, bytes, rounds),
                 true);
        }
        note(column, "acp_copy", exchanges_.by_copy(column.place, bytes, rounds), false);
        if (column.place == IpcPlace::host_host) {
            note(column, "channel", exchanges_.by_call(IpcCall::channel, bytes, rounds), false);
            note(column, "PM", exchanges_.by_call(IpcCall::pm, bytes, rounds), false);
        }
        if (column.place == IpcPlace::host_device) {
            note(column, "write (acp_put)", put(bytes, rounds), false, 1);
            note(column, "read (acp_get)", get(bytes, rounds), false, 1);
        }
    }

    // The first round finds caches and pages cold.
    static void add_all_but_first(const IpcExchanges::Times& times, IpcExchanges::Times& all) {
        all.insert(all.end(), times.begin() + (times.size() > 1 ? 1 : 0), times.end());
    }

    template <typename Work>
    static IpcExchanges::Times time_rounds(std::uint64_t rounds, const Work& work) {
        IpcExchanges::Times times(rounds);
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t start = os::now_ns();
            work(i);
            times[i] = os::now_ns() - start;
        }
        return times;
    }

    IpcExchanges::Times put(std::uint64_t bytes, std::uint64_t rounds) {
        const char* const from = exchanges_.own_memory().buffers().out;
        const acp_ga_t to = exchanges_.device_memory().in();
        return time_rounds(rounds, [&](std::uint64_t) {
            must(acp_wait(acp_put(to, from, bytes, ACP_HANDLE_NULL), -1) == 0);
        });
    }

    IpcExchanges::Times get(std::uint64_t bytes, std::uint64_t rounds) {
        char* const to = exchanges_.own_memory().buffers().in;
        const acp_ga_t from = exchanges_.device_memory().out();
        return time_rounds(rounds, [&](std::uint64_t) {
            must(acp_wait(acp_get(to, from, bytes, ACP_HANDLE_NULL), -1) == 0);
        });
    }

    // Times the writing and reading of two messages, which both ends of an exchange do in each
    // round.
    IpcExchanges::Times touch(std::uint64_t bytes) {
        const IpcBuffers buffers = exchanges_.own_memory().buffers();
        return time_rounds(rounds_of(bytes), [&](std::uint64_t round) {
            for (char* const message : {buffers.out, buffers.in}) {
                ipc_fill(message, bytes, ipc_byte(round, false));
                asm volatile("" : : "r"(message) : "memory");
                if (!ipc_is_filled(message, bytes, ipc_byte(round, false)))
                    give_up("a message has not the bytes that were written");
            }
        });
    }

    // One memcpy of a message.
    IpcExchanges::Times copy_memory(std::uint64_t bytes) {
        const IpcBuffers buffers = exchanges_.own_memory().buffers();
        return time_rounds(rounds_of(bytes), [&](std::uint64_t) {
            std::memcpy(buffers.in, buffers.out, bytes);
            asm volatile("" : : "r"(buffers.in) : "memory");
        });
    }

    static double median_us(const IpcExchanges::Times& times_ns) {
        return median_of({times_ns.begin(), times_ns.end()}) / 1e3;
    }

    // The best of the four ways of the system between the same columns, or those of a way of the
    // system between two host processes.
    static const Cell* reference_of(const Cell& cell, const std::vector<Cell>& cells) {
        const Cell* best = nullptr;
        for (const Cell& other : cells) {
            if (!other.is_of_system) continue;
            if (cell.is_of_system) {
                if (other.column == columns.data() && other.name == cell.name) return &other;
            } else if (other.column == cell.column &&
                       (best == nullptr || median_us(other.times_ns) < median_us(best->times_ns))) {
                best = &other;
            }
        }
        return best;
    }

    Row row_of(const Cell& cell,
               std::uint64_t bytes,
               const std::vector<Cell>& cells,
               double touch_us,
               double memcpy_us) const {
        Row row;
        row.experiment = cell.column->experiment;
        row.name = cell.name + cell.column->name;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = bytes;
        row.iterations = cell.times_ns.size();
        std::vector<double> times_us;
        for (const std::uint64_t ns : cell.times_ns)
            times_us.push_back(static_cast<double>(ns) / 1e3);
        row.latency_us = summarize(std::move(times_us));
        const auto moved = static_cast<double>(bytes * cell.messages);
        row.bandwidth_mb_per_s = moved / row.latency_us.median;
        if (cell.messages == 1 || (cell.is_of_system && cell.column == columns.data())) {
            const double messages = static_cast<double>(cell.messages);
            compare(row, "memcpy", messages * memcpy_us, moved);
        } else if (const Cell* const other = reference_of(cell, cells); other != nullptr) {
            compare(row, cell.is_of_system ? "between host processes" : other->name,
                    median_us(other->times_ns), moved);
        }
        if (cell.messages == 2) {
            row.extra.emplace_back("touch_us", touch_us);
            const double rest_us = row.latency_us.median - touch_us;
            if (rest_us > 0) row.extra.emplace_back("untouched_MBps", moved / rest_us);
        }
        if (cell.is_of_system) row.paper = paper_004_at(row.experiment, bytes);
        return row;
    }

    static void compare(Row& row, std::string name, double us, double moved) {
        const bool is_time = row.bytes < bandwidth_from_bytes;
        const double value = is_time ? us : moved / us;
        row.yardstick = Yardstick{std::move(name), value, is_time ? "us" : "MB/s"};
        row.ratio = (is_time ? row.latency_us.median : row.bandwidth_mb_per_s) / value;
    }

    Job& job_;
    const Options& options_;
    IpcExchanges& exchanges_;
};

}  // namespace

int run_ipc(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    std::vector<std::uint64_t> sizes = call.options.sizes;
    if (sizes.empty()) sizes.assign(ipc_sizes.begin(), ipc_sizes.end());
    if (call.options.sizes.empty() && call.options.is_quick)
        std::erase_if(sizes, [](std::uint64_t bytes) { return bytes > quick_bytes_max; });
    IpcExchanges exchanges(job, sizes.back());
    if (!job.conducts()) {
        exchanges.follow();
        return 0;
    }
    return finish(call.options, Ipc(job, call.options, exchanges).run(sizes));
}

}  // namespace acp::bench
