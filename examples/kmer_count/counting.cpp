// SPDX-License-Identifier: BSD-3-Clause
// From units of work to k-mers in the counter. See counting.hpp.
#include "counting.hpp"

#include <cstddef>

#include "sequence_reader.hpp"

namespace kmer {

namespace {

// Collects hashes, and hands them to the counter many at a time.
class Collector {
public:
    explicit Collector(KmerCounter& counter) : counter_(counter) { hashes_.reserve(hashes_max); }

    void push(std::uint64_t hash) {
        hashes_.push_back(hash);
        if (hashes_.size() == hashes_max) flush();
    }

    void flush() {
        counter_.add(hashes_);
        hashes_.clear();
    }

private:
    static constexpr std::size_t hashes_max = 2048;

    KmerCounter& counter_;
    std::vector<std::uint64_t> hashes_;
};

void read_unit(Job& job,
               Collector& collector,
               int k,
               const std::string& file,
               const WorkUnit& unit,
               ReadTotals& totals) {
    const acp_ga_t bytes_read = Job::board_ga(0, offsetof(Board, bytes_read));
    SequenceReader reader(file);
    ShareReader share(k, unit.share, unit.shares);
    std::uint64_t reported = 0;
    const auto push = [&](std::uint64_t hash) { collector.push(hash); };
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
                      KmerCounter& counter,
                      int k,
                      const std::vector<std::string>& files,
                      const std::vector<WorkUnit>& units) {
    const acp_ga_t units_taken = Job::board_ga(0, offsetof(Board, units_taken));
    ReadTotals totals;
    Collector collector(counter);
    for (;;) {
        const std::uint64_t next = job.fetch_add(units_taken, 1);
        if (next >= units.size()) break;
        const WorkUnit& unit = units[next];
        read_unit(job, collector, k, files[unit.file], unit, totals);
    }
    collector.flush();
    return totals;
}

}  // namespace kmer
