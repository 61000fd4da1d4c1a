// SPDX-License-Identifier: BSD-3-Clause
// kmer_count: counts the k-mers of DNA sequences over all ranks, by global memory access alone.
//
//   acprun -n 4 ./kmer_count reads_1.fq.gz reads_2.fq.gz
//
// prints the spectrum, "count number" lines as `jellyfish histo` prints them, and on stderr a
// progress bar and the totals. How it works, top down: counting.hpp cuts this rank's share of the
// input into k-mers, map_counter.hpp counts each in a map that all ranks share (or, with
// --exchange, exchange.hpp brings it to the rank that owns it, where count_table.hpp counts it),
// spectrum.hpp puts the ranks' results together. All ranks end with the same exit code.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <numeric>

#include <acp.h>

#include "counting.hpp"
#include "exchange.hpp"
#include "job.hpp"
#include "map_counter.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "spectrum.hpp"
#include "work_list.hpp"

namespace kmer {

namespace {

enum ExitCode : int { exit_counted = 0, exit_failed = 1, exit_usage = 2 };

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

// Rank 0's output, opened before the work begins: a wrong path is known at once. Null: standard
// output.
OutputFile open_output(const std::string& path) {
    if (path.empty()) return nullptr;
    OutputFile file(std::fopen(path.c_str(), "w"));
    if (!file) throw Failure(path + ": " + system_reason());
    return file;
}

void write_output(OutputFile file, const std::string& path, const Spectrum& spectrum) {
    const bool is_written = write_spectrum(file ? file.get() : stdout, spectrum);
    const bool is_closed = !file || std::fclose(file.release()) == 0;
    if (!is_written || !is_closed) {
        throw Failure((path.empty() ? "standard output" : path) + ": " + system_reason());
    }
}

void print_totals(const Report& totals, int k, int ranks, double seconds) {
    std::fprintf(stderr,
                 "%" PRIu64 " reads, %" PRIu64 " bases, %" PRIu64 " %d-mers, %" PRIu64
                 " distinct: %.2f s on %d ranks, %.1f M k-mers/s\n",
                 totals.reads, totals.bases, totals.kmers, k, totals.distinct, seconds, ranks,
                 static_cast<double>(totals.kmers) / seconds / 1e6);
}

// The way of counting that was chosen.
std::unique_ptr<KmerCounter> make_counter(Job& job, const Options& options) {
    if (!options.is_exchanging) return std::make_unique<MapCounter>(job, options.batch);
    return std::make_unique<Exchange>(job, options.batch, options.inbox_mib << 20);
}

// The whole job. Collective; throws Failure or Stopped, on all ranks.
void count_files(const Options& options) {
    const auto start = std::chrono::steady_clock::now();
    Job job;
    const bool is_loud = job.is_first() && !options.is_quiet;
    OutputFile output;
    std::vector<WorkUnit> units;
    job.together([&] {
        units = make_work_list(options.files, static_cast<std::uint32_t>(job.procs()));
        if (job.is_first()) output = open_output(options.output);
    });

    std::unique_ptr<KmerCounter> counter;  // its memory lives until no rank writes to it any more
    ReadTotals read;
    Counted counted;
    {
        const std::uint64_t total_bytes = std::accumulate(
            units.begin(), units.end(), std::uint64_t{0},
            [](std::uint64_t sum, const WorkUnit& unit) { return sum + unit.bytes; });
        const ProgressBar bar(is_loud ? terminal_columns() : 0, job.board().bytes_read,
                              total_bytes);
        job.together([&] {
            counter = make_counter(job, options);
            counter->begin();
            read = read_units(job, *counter, options.k, options.files, units);
            counter->finish();
            counted = counter->counted();
        });
    }
    counter.reset();

    const Result result = gather_result(job, counted, options.high, read.reads, read.bases);
    job.together([&] {
        if (job.is_first()) write_output(std::move(output), options.output, result.spectrum);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (is_loud) print_totals(result.totals, options.k, job.procs(), seconds.count());
}

// Runs on every rank; rank 0 speaks for all.
int run(int argc, char** argv) {
    const bool speaks = acp_rank() == 0;
    try {
        const Options options = parse_options(argc, argv);
        if (options.wants_help) {
            if (speaks) std::fputs(help_text, stdout);
            return exit_counted;
        }
        count_files(options);
        return exit_counted;
    } catch (const UsageError& error) {
        if (speaks) {
            std::fprintf(stderr, "kmer_count: %s; kmer_count --help shows the options\n",
                         error.what());
        }
        return exit_usage;
    } catch (const std::exception& error) {
        if (speaks) std::fprintf(stderr, "kmer_count: %s\n", error.what());
        return exit_failed;
    }
}

}  // namespace

}  // namespace kmer

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "kmer_count: cannot join the job: %s\n", acp_error_message());
        return kmer::exit_failed;
    }
    const int code = kmer::run(argc, argv);
    if (acp_finalize() != 0) acp_abort("kmer_count");
    return code;
}
