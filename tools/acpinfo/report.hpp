// SPDX-License-Identifier: BSD-3-Clause
// The report of acpinfo as data: sections of facts, each with a verdict and, if the verdict is bad,
// the remedies. Knows neither where facts come from nor how they are shown. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/json.hpp"

namespace acp::acpinfo {

enum class Verdict {
    plain,   // says nothing about good or bad
    good,    // works
    costly,  // works, but something is slower or scarcer than it could be
    broken   // does not work
};

struct Fact {
    std::string name;  // "last level cache"
    std::string text;  // "32 MiB"
    Verdict verdict = Verdict::plain;
    std::vector<std::string> remedies = {};  // sentences, or commands that begin with "$ "
    tool::Json value = nullptr;              // for programs; null: the text is the value
};

struct Section {
    std::string key;    // "machine"; names it in JSON
    std::string title;  // "Machine"
    std::vector<Fact> facts;
};

using Report = std::vector<Section>;

}  // namespace acp::acpinfo
