// SPDX-License-Identifier: BSD-3-Clause
// The command line, by getopt_long. See options.hpp.
#include "options.hpp"

#include <charconv>
#include <getopt.h>
#include <string_view>

#include "kmer.hpp"

namespace kmer {

const char* const help_text =
    "Usage: acprun -n RANKS kmer_count [OPTION]... FILE...\n"
    "\n"
    "Counts the canonical k-mers of FASTA and FASTQ files, plain or gzip, and prints their "
    "spectrum:\n"
    "a line \"count number\" for every count that occurs, as `jellyfish histo` does.\n"
    "\n"
    "  -k K              length of the k-mers, 1 to 31 (21)\n"
    "  -o, --output FILE write the spectrum to FILE, not to standard output\n"
    "      --high N      count k-mers that occur more than N times under N + 1 (10000)\n"
    "      --exchange    send k-mers to the ranks that count them, by copies and atomics, instead "
    "of\n"
    "                    counting in a map that all ranks share\n"
    "      --batch N     k-mers in a call (--exchange: sent to a rank at once), 1 to 1048576 "
    "(2048)\n"
    "      --inbox MIB   with --exchange: memory in which a rank receives k-mers, in MiB,\n"
    "                    0 to 1048576 (32)\n"
    "  -q, --quiet       no progress bar and no totals on standard error\n"
    "      --help        print this and exit\n"
    "\n"
    "Exit status: 0 when all is counted, 1 when a file cannot be read or written, 2 for a wrong\n"
    "command line.\n";

namespace {

enum : int { option_high = 256, option_exchange, option_batch, option_inbox, option_help };

constexpr option long_options[] = {
    {"output", required_argument, nullptr, 'o'},
    {"high", required_argument, nullptr, option_high},
    {"exchange", no_argument, nullptr, option_exchange},
    {"batch", required_argument, nullptr, option_batch},
    {"inbox", required_argument, nullptr, option_inbox},
    {"quiet", no_argument, nullptr, 'q'},
    {"help", no_argument, nullptr, option_help},
    {nullptr, 0, nullptr, 0},
};

template <typename Number>
Number parse_number(const char* name, std::string_view text, Number min, Number max) {
    Number number{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || rest != text.data() + text.size() || number < min || number > max) {
        throw UsageError(std::string(name) + " is \"" + std::string(text) + "\", must be " +
                         std::to_string(min) + " to " + std::to_string(max));
    }
    return number;
}

}  // namespace

Options parse_options(int argc, char** argv) {
    constexpr std::size_t two_20 = std::size_t{1} << 20;
    Options options;
    opterr = 0;  // what is wrong is said once, by rank 0
    for (;;) {
        const char* given = optind < argc ? argv[optind] : "";
        // The leading colon: a missing value is told from an unknown option.
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the one thread there is so far
        const int found = getopt_long(argc, argv, ":k:o:q", long_options, nullptr);
        if (found == -1) break;
        switch (found) {
            case 'k':
                options.k = parse_number("-k", optarg, 1, k_max);
                break;
            case 'o':
                options.output = optarg;
                break;
            case 'q':
                options.is_quiet = true;
                break;
            case option_high:
                options.high = parse_number<std::uint64_t>("--high", optarg, 1, UINT64_MAX - 1);
                break;
            case option_exchange:
                options.is_exchanging = true;
                break;
            case option_batch:
                options.batch = parse_number<std::size_t>("--batch", optarg, 1, two_20);
                break;
            case option_inbox:
                options.inbox_mib = parse_number<std::size_t>("--inbox", optarg, 0, two_20);
                break;
            case option_help:
                options.wants_help = true;
                return options;
            case ':':
                throw UsageError(std::string("no value after ") + given);
            default:
                throw UsageError(std::string("unknown option ") + given);
        }
    }
    options.files.assign(argv + optind, argv + argc);
    if (options.files.empty()) throw UsageError("no file given");
    return options;
}

}  // namespace kmer
