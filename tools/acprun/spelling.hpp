// SPDX-License-Identifier: BSD-3-Clause
// The accepted spellings of acprun's options: with one dash instead of two, as version 3.0 and
// other launchers have them, and under their names of version 3.0. An old option without an
// equivalent is refused with a sentence that says what to do instead, an unknown one with the
// nearest name. Knows no effects of options. Pure; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace acp::run {

// The names of all options.
struct OptionNames {
    std::vector<std::string> words;  // long names without dashes: "procs", "hosts"
    std::string letters_alone;       // letters of options without a value: "hq"
    std::string letters_valued;      // letters of options with a value: "nx"
};

struct Spelling {
    // the argument with the present name of its option: "--procs", "--hosts=a,b", "-n4"; "" =
    // nothing
    std::string word;
    std::string refusal;    // the message when the argument is not understood; "" when it is
    bool has_next = false;  // the next argument was the option's value and must be skipped
};

//   argument  begins with a dash, followed by another character; not "--"
//   next      the next argument; "" when there is none
[[nodiscard]] Spelling spelling_of(std::string_view argument,
                                   std::string_view next,
                                   const OptionNames& names);

}  // namespace acp::run
