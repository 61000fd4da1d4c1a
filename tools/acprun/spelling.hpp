// SPDX-License-Identifier: BSD-3-Clause
// How the options of acprun may be spelled: with one dash instead of two, as version 3.0 and other launchers do, and
// under the names that version 3.0 had for them. An old option without an equivalent is refused with a sentence that
// says what to do instead, an unknown one with the nearest name. Knows no effects of options. Pure; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace acp::run {

// What there is to spell.
struct OptionNames {
    std::vector<std::string> words;  // long names without dashes: "procs", "hosts"
    std::string letters_alone;       // letters of options without a value: "hq"
    std::string letters_valued;      // letters of options with a value: "nx"
};

struct Spelling {
    std::string
        word;  // the argument as options are called today: "--procs", "--hosts=a,b", "-n4"; "" = nothing
    std::string refusal;    // the sentence, when the argument is not understood; "" when it is
    bool has_next = false;  // the next argument was its value, and is done with
};

//   argument  begins with a dash and has another letter; not "--"
//   next      the argument behind it; "" when there is none
[[nodiscard]] Spelling spelling_of(std::string_view argument,
                                   std::string_view next,
                                   const OptionNames& names);

}  // namespace acp::run
