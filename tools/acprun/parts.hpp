// SPDX-License-Identifier: BSD-3-Clause
// Cuts the command line into parts, one per program: "-n 2 ./server : -n 6 ./client". Knows where
// options end and programs begin, but no effect of an option. Pure; one thread.
#pragma once

#include <string>
#include <vector>

#include "common/cli.hpp"

namespace acp::run {

struct Part {
    // the options before the program, each a single word: "--procs=4"
    std::vector<cli::Word> options;
    std::vector<std::string> command;  // the program and its arguments; empty if none is named
};

// Cuts at each ":" that is a word of its own, and cuts each part at the name of its program. After
// "--" all words, even ":", belong to one program. Options are spelled as `app` declares them; a
// later part may have only -n. Throws: cli::ValidationError (a word is no option of `app`, or an
// option that a later part must not have).
//   words   the command line without acprun's own name
//   Returns at least one part.
[[nodiscard]] std::vector<Part> cut_parts(const cli::App& app,
                                          const std::vector<std::string>& words);

// "part 2 (./client)"
[[nodiscard]] std::string name_of_part(const std::vector<Part>& parts, std::size_t index);

}  // namespace acp::run
