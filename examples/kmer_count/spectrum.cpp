// SPDX-License-Identifier: BSD-3-Clause
// Bars of all ranks into one spectrum. See spectrum.hpp.
#include "spectrum.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstddef>
#include <optional>

#include "global_array.hpp"

namespace kmer {

namespace {

Spectrum make_spectrum(const CountTable& table, std::uint64_t high) {
    std::array<std::uint64_t, 1024> low_counts{};  // most counts are small: no search for these
    Spectrum spectrum;
    table.for_each_count([&](std::uint64_t count) {
        const std::uint64_t bar = count > high ? high + 1 : count;
        ++(bar < low_counts.size() ? low_counts[bar] : spectrum[bar]);
    });
    for (std::size_t count = 0; count < low_counts.size(); ++count) {
        if (low_counts[count] != 0) spectrum[count] = low_counts[count];
    }
    return spectrum;
}

void add_rank(Result& result, int rank) {
    GlobalArray<Report> report(1);
    acp_complete(acp_copy(report.ga(0), Job::board_ga(rank, offsetof(Board, report)),
                          sizeof(Report), ACP_HANDLE_NULL));
    GlobalArray<Bar> bars(report.at(0)->bar_count);
    acp_complete(acp_copy(bars.ga(0), report.at(0)->bars, report.at(0)->bar_count * sizeof(Bar),
                          ACP_HANDLE_NULL));
    for (std::size_t i = 0; i < report.at(0)->bar_count; ++i) {
        result.spectrum[bars.at(i)->count] += bars.at(i)->kmers;
    }
    result.totals.reads += report.at(0)->reads;
    result.totals.bases += report.at(0)->bases;
    result.totals.kmers += report.at(0)->kmers;
    result.totals.distinct += report.at(0)->distinct;
}

}  // namespace

Result gather_result(Job& job,
                     const CountTable& table,
                     std::uint64_t high,
                     std::uint64_t reads,
                     std::uint64_t bases) {
    Result result;
    std::optional<GlobalArray<Bar>>
        bars;  // lives until rank 0 has read it: past the last checkpoint
    job.together([&] {
        const Spectrum mine = make_spectrum(table, high);
        bars.emplace(mine.size());
        std::transform(mine.begin(), mine.end(), bars->at(0), [](const auto& bar) {
            return Bar{bar.first, bar.second};
        });
        job.board().report = {.bars = bars->ga(0),
                              .bar_count = mine.size(),
                              .reads = reads,
                              .bases = bases,
                              .kmers = table.total(),
                              .distinct = table.distinct()};
        job.checkpoint();
        for (int rank = 0; job.is_first() && rank < job.procs(); ++rank) add_rank(result, rank);
    });
    return result;
}

bool write_spectrum(std::FILE* file, const Spectrum& spectrum) {
    for (const auto& [count, kmers] : spectrum) {
        std::fprintf(file, "%" PRIu64 " %" PRIu64 "\n", count, kmers);
    }
    return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace kmer
