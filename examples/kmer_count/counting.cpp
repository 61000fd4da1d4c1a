// SPDX-License-Identifier: BSD-3-Clause
// From units of work to k-mers in the exchange. See counting.hpp.
#include "counting.hpp"

#include <cstddef>

#include "sequence_reader.hpp"

namespace kmer {

namespace {

void read_unit(Job& job,
               Exchange& exchange,
               int k,
               const std::string& file,
               const WorkUnit& unit,
               ReadTotals& totals) {
    const acp_ga_t bytes_read = Job::board_ga(0, offsetof(Board, bytes_read));
    SequenceReader reader(file);
    ShareReader share(k, unit.share, unit.shares);
    std::uint64_t reported = 0;
    const auto push = [&](std::uint64_t hash) { exchange.push(hash); };
    const auto report = [&](std::uint64_t position) {
        job.add(bytes_read, position - reported);
        reported = position;
    };
    Piece piece;
    while (reader.next(piece)) {
        if (piece.starts_record) {
            share.begin_record();
            totals.reads += unit.share == 0 ? 1 : 0;
        }
        totals.bases += share.take(piece.letters, push);
        if (reader.position() != reported) report(reader.position());
    }
    report(unit.bytes);
}

}  // namespace

ReadTotals read_units(Job& job,
                      Exchange& exchange,
                      int k,
                      const std::vector<std::string>& files,
                      const std::vector<WorkUnit>& units) {
    const acp_ga_t units_taken = Job::board_ga(0, offsetof(Board, units_taken));
    ReadTotals totals;
    for (;;) {
        const std::uint64_t next = job.fetch_add(units_taken, 1);
        if (next >= units.size()) return totals;
        const WorkUnit& unit = units[next];
        read_unit(job, exchange, k, files[unit.file], unit, totals);
    }
}

}  // namespace kmer
