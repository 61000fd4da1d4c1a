// SPDX-License-Identifier: BSD-3-Clause
// Cuts the words of the command line from left to right.
#include "parts.hpp"

#include <algorithm>

#include "spelling.hpp"

namespace acp::run {

namespace {

constexpr const char* separator = ":";

bool takes_value(const cli::App& app, const std::string& name) {
    const cli::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_min() > 0;
}

// The long name of an option, to which its value can be attached whatever character the value
// begins with.
std::string long_name(const cli::App& app, const std::string& name) {
    return "--" + app.get_option(name)->get_lnames().front();
}

OptionNames names_of(const cli::App& app) {
    OptionNames names;
    for (const cli::Option* option : app.get_options()) {
        for (const std::string& word : option->get_lnames()) names.words.push_back(word);
        for (const std::string& letter : option->get_snames()) {
            (option->get_items_expected_min() > 0 ? names.letters_valued : names.letters_alone) +=
                letter;
        }
    }
    return names;
}

// Walks through the words; each call takes the next ones.
class Cutter {
public:
    Cutter(const cli::App& app, const std::vector<std::string>& words)
        : app_(app), names_(names_of(app)), words_(words) {}

    Part next_part() {
        Part part;
        while (at_ < words_.size() && words_[at_].size() >= 2 && words_[at_][0] == '-' &&
               words_[at_] != "--") {
            take_option(part.options);
        }
        const bool is_last = at_ < words_.size() && words_[at_] == "--";
        if (is_last) ++at_;
        const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(at_);
        const auto end = is_last ? words_.end() : std::find(begin, words_.end(), separator);
        part.command.assign(begin, end);
        at_ = static_cast<std::size_t>(end - words_.begin());
        return part;
    }

    // Whether another part follows; skips the ":" before it.
    bool take_separator() { return at_ < words_.size() && ++at_ != 0; }

private:
    void take_option(std::vector<cli::Word>& options) {
        const std::string& given = words_[at_];
        const std::string typed = given.substr(0, given.find('='));
        const std::string next = at_ + 1 < words_.size() ? words_[at_ + 1] : std::string();
        const Spelling spelling = spelling_of(given, next, names_);
        if (!spelling.refusal.empty()) throw cli::ValidationError(spelling.refusal);
        at_ += spelling.has_next ? 2 : 1;
        const std::string& word = spelling.word;
        if (word.empty()) return;
        if (takes_value(app_, word) && at_ < words_.size()) {
            options.push_back({long_name(app_, word) + "=" + words_[at_++], typed});
        } else if (word[1] != '-' && word.size() > 2 && takes_value(app_, word.substr(0, 2))) {
            options.push_back(
                {long_name(app_, word.substr(0, 2)) + "=" + word.substr(word[2] == '=' ? 3 : 2),
                 word.substr(0, 2)});
        } else {
            options.push_back({word, word.starts_with("--") || word.size() == 2 ? typed : ""});
        }
    }

    const cli::App& app_;
    const OptionNames names_;
    const std::vector<std::string>& words_;
    std::size_t at_ = 0;
};

bool is_procs(const cli::Word& word) {
    return word.text == "-n" || word.text == "--procs" || word.text.starts_with("--procs=");
}

}  // namespace

std::vector<Part> cut_parts(const cli::App& app, const std::vector<std::string>& words) {
    Cutter cutter(app, words);
    std::vector<Part> parts{cutter.next_part()};
    while (cutter.take_separator()) {
        parts.push_back(cutter.next_part());
        for (const cli::Word& word : parts.back().options) {
            if (is_procs(word)) continue;
            throw cli::ValidationError((word.typed.empty() ? word.text : word.typed) + " in " +
                                       name_of_part(parts, parts.size() - 1) +
                                       ": options other than -n hold for the whole job and stand "
                                       "before the first program");
        }
    }
    return parts;
}

std::string name_of_part(const std::vector<Part>& parts, std::size_t index) {
    const std::vector<std::string>& command = parts[index].command;
    return "part " + std::to_string(index + 1) +
           (command.empty() ? "" : " (" + command.front() + ")");
}

}  // namespace acp::run
