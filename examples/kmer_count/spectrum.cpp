// SPDX-License-Identifier: BSD-3-Clause
// Bars of all ranks into one spectrum. See spectrum.hpp.
#include "spectrum.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <optional>
#include <utility>

#include "global_array.hpp"

namespace kmer {

namespace {

// Counts above `high` share one bar.
Spectrum limited(const Spectrum& spectrum, std::uint64_t high) {
    Spectrum result;
    for (const auto& [count, kmers] : spectrum) result[std::min(count, high + 1)] += kmers;
    return result;
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

Spectrum SpectrumMaker::take() {
    Spectrum spectrum = std::move(rest_);
    rest_.clear();
    for (std::size_t count = 0; count < low_.size(); ++count) {
        if (low_[count] != 0) spectrum[count] = low_[count];
    }
    low_ = {};
    return spectrum;
}

Result gather_result(Job& job,
                     const Counted& counted,
                     std::uint64_t high,
                     std::uint64_t reads,
                     std::uint64_t bases) {
    Result result;
    std::optional<GlobalArray<Bar>>
        bars;  // lives until rank 0 has read it: past the last checkpoint
    job.together([&] {
        const Spectrum mine = limited(counted.spectrum, high);
        bars.emplace(mine.size());
        std::transform(mine.begin(), mine.end(), bars->at(0), [](const auto& bar) {
            return Bar{bar.first, bar.second};
        });
        job.board().report = {.bars = bars->ga(0),
                              .bar_count = mine.size(),
                              .reads = reads,
                              .bases = bases,
                              .kmers = counted.kmers,
                              .distinct = counted.distinct};
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
