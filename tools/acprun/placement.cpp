// SPDX-License-Identifier: BSD-3-Clause
// Splits ranks, and reads hosts word by word.
#include "placement.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/format.hpp"
#include "base/parse.hpp"
#include "node/segment.hpp"

namespace acp::run {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view blanks = " \t\r";

// A mistake in a text, and the part of the text that it is about.
struct Mistake {
    std::string problem;
    std::string_view where;
};

// Hosts in the order in which they were first named.
class HostList {
public:
    std::optional<Mistake> add(std::string_view word, std::string_view host, std::uint32_t slots) {
        const auto [found, is_new] = places_.emplace(std::string(host), hosts_.size());
        if (is_new && hosts_.size() == nodes_max) {
            return Mistake{"a job has at most " + std::to_string(nodes_max) + " hosts", word};
        }
        if (is_new) hosts_.push_back({std::string(host), 0});
        std::uint32_t& sum = hosts_[found->second].slots;
        if (sum + slots > node::local_procs_max) {
            return Mistake{"a host has at most " + std::to_string(node::local_procs_max) + " slots",
                           word};
        }
        sum += slots;
        return std::nullopt;
    }

    [[nodiscard]] std::vector<HostSlots> take() { return std::move(hosts_); }

    [[nodiscard]] bool is_empty() const noexcept { return hosts_.empty(); }

private:
    std::vector<HostSlots> hosts_;
    std::unordered_map<std::string, std::size_t> places_;
};

constexpr std::string_view name_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@:%";

bool has_only_name_letters(std::string_view host) noexcept {
    return host.find_first_not_of(name_letters) == std::string_view::npos;
}

// Checks a word that names a host and perhaps its slots; nullopt when it is correct.
std::optional<Mistake> check_word(std::string_view word) {
    if (word.empty()) return Mistake{"a host is missing", word};
    if (word.front() == '-') return Mistake{"the name of a host begins with \"-\"", word};
    const std::string allowed = std::string(name_letters) + "[]";
    const std::size_t bad = word.find_first_not_of(allowed);
    if (bad != std::string_view::npos) {
        return Mistake{"\"" + std::string(word.substr(bad, 1)) + "\" in the name of a host",
                       word.substr(bad)};
    }
    return std::nullopt;
}

// The length of the name without the user before it: "USER@" is no part of the host's name.
std::size_t name_length(std::string_view host) noexcept {
    return host.size() - (host.rfind('@') + 1);  // npos + 1 is 0
}

std::optional<Mistake> read_slots(std::string_view text, std::uint32_t& slots) {
    const auto number = base::parse_unsigned(text);
    if (!number || *number < 1 || *number > node::local_procs_max) {
        return Mistake{"slots are a number from 1 to " + std::to_string(node::local_procs_max) +
                           ", not \"" + std::string(text) + "\"",
                       text};
    }
    slots = static_cast<std::uint32_t>(*number);
    return std::nullopt;
}

// Reads "host", "host:N", "[fd00::1]" or "[fd00::1]:N"; ssh needs the address without brackets.
std::optional<Mistake> read_host(std::string_view word, std::string& host, std::uint32_t& slots) {
    if (auto mistake = check_word(word)) return mistake;
    const std::size_t open = word.find('[');
    const std::size_t close = word.find(']');
    std::size_t colon = word.find(':');
    if (open != std::string_view::npos) {
        if (close == std::string_view::npos || close < open) {
            return Mistake{"a \"[\" without its \"]\"", word.substr(open)};
        }
        host = std::string(word.substr(0, open)) +
               std::string(word.substr(open + 1, close - open - 1));
        colon = close + 1 < word.size() ? close + 1 : std::string_view::npos;
        if (colon != std::string_view::npos && word[colon] != ':') {
            return Mistake{"after \"]\" comes \":\" and the slots", word.substr(colon)};
        }
    } else {
        host = std::string(word.substr(0, colon));
    }
    if (host.empty()) return Mistake{"a host is missing", word};
    // Without its brackets the name may begin with "-", which ssh would take for an option.
    if (host.front() == '-') {
        return Mistake{"the name of a host begins with \"-\"", word.substr(word.find('-'))};
    }
    if (!has_only_name_letters(host)) {
        return Mistake{"\"[\" and \"]\" stand around one address", word};
    }
    if (auto problem = describe_long_name(host)) return Mistake{std::move(*problem), word};
    if (colon == std::string_view::npos) return std::nullopt;
    return read_slots(word.substr(colon + 1), slots);
}

// Reads one line of a host file, without its comment.
std::optional<Mistake> read_line(std::string_view line, HostList& hosts) {
    std::string host;
    std::uint32_t slots = 1;
    std::string_view host_word;
    while (true) {
        const std::size_t begin = line.find_first_not_of(blanks);
        if (begin == std::string_view::npos) break;
        line.remove_prefix(begin);
        const std::string_view word = line.substr(0, line.find_first_of(blanks));
        line.remove_prefix(word.size());
        constexpr std::string_view slots_word = "slots=";
        std::optional<Mistake> mistake;
        if (host_word.empty()) {
            host_word = word;
            mistake = read_host(word, host, slots);
        } else if (word.compare(0, slots_word.size(), slots_word) == 0) {
            mistake = read_slots(word.substr(slots_word.size()), slots);
        } else {
            mistake =
                Mistake{"after a host comes slots=N, not \"" + std::string(word) + "\"", word};
        }
        if (mistake) return mistake;
    }
    if (host_word.empty()) return std::nullopt;
    return hosts.add(host_word, host, slots);
}

// The line, and below it a caret at the mistake.
std::string pointing(std::string_view line, std::string_view where) {
    std::string under;
    const auto column = static_cast<std::size_t>(where.data() - line.data());
    for (const char shown : base::printable(line.substr(0, column))) {
        under += shown == '\t' ? '\t' : ' ';
    }
    return "\n    " + std::string(line) + "\n    " + under + "^";
}

}  // namespace

std::optional<std::string> describe_long_name(std::string_view host) {
    if (name_length(host) <= host_name_max) return std::nullopt;
    return "the name of a host has " + std::to_string(name_length(host)) +
           " characters, and at most " + std::to_string(host_name_max) + " are allowed";
}

bool is_host_name(std::string_view host) noexcept {
    return !host.empty() && host.front() != '-' && has_only_name_letters(host) &&
           name_length(host) <= host_name_max;
}

std::vector<std::uint32_t> split_evenly(std::uint32_t ranks, std::uint32_t nodes) {
    std::vector<std::uint32_t> counts(nodes, ranks / nodes);
    for (std::uint32_t i = 0; i < ranks % nodes; ++i) ++counts[i];
    return counts;
}

Result<std::vector<HostSlots>> hosts_from_list(std::string_view list) {
    HostList hosts;
    for (std::string_view rest = list;;) {
        const std::string_view word = rest.substr(0, rest.find(','));
        std::string host;
        std::uint32_t slots = 1;
        auto mistake = read_host(word, host, slots);
        if (!mistake) mistake = hosts.add(word, host, slots);
        if (mistake) {
            return Status(Code::argument,
                          "--hosts: " + mistake->problem + pointing(list, mistake->where));
        }
        if (word.size() == rest.size()) return hosts.take();
        rest.remove_prefix(word.size() + 1);
    }
}

Result<std::vector<HostSlots>> hosts_from_file(std::string_view text, const std::string& name) {
    HostList hosts;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view whole = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(whole.size() + 1, text.size()));
        if (const auto mistake = read_line(whole.substr(0, whole.find('#')), hosts)) {
            return Status(Code::argument, name + ":" + std::to_string(number) + ": " +
                                              mistake->problem + pointing(whole, mistake->where));
        }
    }
    if (hosts.is_empty()) return Status(Code::argument, name + ": no host in this file");
    return hosts.take();
}

Result<std::vector<std::uint32_t>> fill_slots(const std::vector<HostSlots>& hosts,
                                              std::uint32_t ranks,
                                              bool may_oversubscribe) {
    std::vector<std::uint32_t> counts(hosts.size(), 0);
    std::uint64_t slots = 0;
    for (const HostSlots& host : hosts) slots += host.slots;
    if (slots == 0) return Status(Code::argument, "no host with a slot is named");
    if (ranks > slots && !may_oversubscribe) {
        return Status(Code::argument,
                      std::to_string(ranks) + " ranks, but " + std::to_string(hosts.size()) +
                          (hosts.size() == 1 ? " host has " : " hosts have ") +
                          std::to_string(slots) + (slots == 1 ? " slot" : " slots"));
    }
    while (ranks > 0) {
        for (std::size_t i = 0; i < hosts.size() && ranks > 0; ++i) {
            const std::uint32_t taken = std::min(ranks, hosts[i].slots);
            counts[i] += taken;
            ranks -= taken;
        }
    }
    return counts;
}

}  // namespace acp::run
