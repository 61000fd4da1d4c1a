// SPDX-License-Identifier: BSD-3-Clause
// The command line. Every rank reads the same one and comes to the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace kmer {

struct Options {
    int k = 21;
    std::uint64_t high = 10000;
    std::string output;  // empty: standard output
    bool is_exchanging = false;
    std::size_t batch = 2048;
    std::size_t inbox_mib = 32;
    bool is_quiet = false;
    bool wants_help = false;
    std::vector<std::string> files;
};

// The command line is wrong; the sentence says how.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Throws UsageError.
Options parse_options(int argc, char** argv);

extern const char* const help_text;

}  // namespace kmer
