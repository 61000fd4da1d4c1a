// SPDX-License-Identifier: BSD-3-Clause
// How the input is divided. A unit of work is a share of a file: who takes share s of n reads the file
// from end to end, as a gzip file can only be, but looks at every n-th block of letters alone. A file
// has as many shares as it is large in proportion, so one file keeps all ranks busy and many small ones
// are read once each. Ranks take units one by one, the large ones first. Knows nothing of formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kmer {

struct WorkUnit {
    std::size_t file = 0;     // index into the list of files
    std::uint64_t bytes = 0;  // that will be read
    std::uint32_t share = 0;  // 0 .. shares-1
    std::uint32_t shares = 1;
};

// The same list on every rank that sees the same files.
//   files  paths of regular files; Failure for others, naming what is wrong
//   procs  ranks to be kept busy, >= 1
std::vector<WorkUnit> make_work_list(const std::vector<std::string>& files, std::uint32_t procs);

}  // namespace kmer
