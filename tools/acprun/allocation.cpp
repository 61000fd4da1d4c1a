// SPDX-License-Identifier: BSD-3-Clause
// Reads the variables of Slurm, PBS and LSF.
#include "allocation.hpp"

#include <algorithm>
#include <utility>

#include "base/parse.hpp"
#include "os/text_file.hpp"

namespace acp::run {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t range_hosts_max = nodes_max;

// How each batch system runs a command on a host of its job. A step of Slurm that overlaps others
// may use all that the job has on its host; the agent binds the ranks where the user asks for that.
// PBS starts processes by pbsdsh and pbs_tmrsh, which give them no standard input.
constexpr const char* slurm_command =
    "srun --overlap --nodes=1 --ntasks=1 --mpi=none --cpu-bind=none --nodelist=%h /bin/sh -c";
constexpr const char* pbs_command = "";
constexpr const char* lsf_command = "blaunch";

std::optional<std::string> find(const base::Environment& environment, std::string_view name) {
    for (const std::string& entry : environment) {
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
            return entry.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

std::vector<std::string> words_of(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    std::vector<std::string> words;
    for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
        words.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

std::string padded(std::uint64_t number, std::size_t digits) {
    std::string text = std::to_string(number);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return text;
}

// Adds "01-03,7": each number with as many digits as the first one of its range. false when it does
// not parse.
bool add_range(std::string_view range, std::vector<std::string>& numbers) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = base::parse_unsigned(low);
    const auto last = base::parse_unsigned(high);
    if (!first || !last || *last < *first || *last - *first >= range_hosts_max) return false;
    for (std::uint64_t i = 0; i <= *last - *first; ++i) {  // the last one may be the largest number
        numbers.push_back(padded(*first + i, low.size()));
    }
    return true;
}

bool add_ranges(std::string_view ranges, std::vector<std::string>& numbers) {
    while (true) {
        const std::size_t comma = std::min(ranges.find(','), ranges.size());
        if (!add_range(ranges.substr(0, comma), numbers)) return false;
        if (comma == ranges.size()) return true;
        ranges.remove_prefix(comma + 1);
    }
}

// Adds one element of a node list, with any number of brackets: each text before a bracket is
// combined with each number in it.
bool add_element(std::string_view element, std::vector<std::string>& hosts) {
    std::vector<std::string> made{""};
    while (!element.empty()) {
        const std::size_t open = std::min(element.find('['), element.size());
        for (std::string& one : made) one += element.substr(0, open);
        element.remove_prefix(open);
        if (element.empty()) break;
        const std::size_t close = element.find(']');
        std::vector<std::string> numbers;
        if (close == std::string_view::npos || !add_ranges(element.substr(1, close - 1), numbers)) {
            return false;
        }
        if (made.size() * numbers.size() > range_hosts_max) return false;
        std::vector<std::string> joined;
        for (const std::string& one : made) {
            for (const std::string& number : numbers) joined.push_back(one + number);
        }
        made = std::move(joined);
        element.remove_prefix(close + 1);
    }
    if (made.front().empty()) return false;
    hosts.insert(hosts.end(), made.begin(), made.end());
    return true;
}

// The end of the next element of a list: a comma outside brackets.
std::size_t element_end(std::string_view list) {
    bool is_inside = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i] == '[') is_inside = true;
        if (list[i] == ']') is_inside = false;
        if (list[i] == ',' && !is_inside) return i;
    }
    return list.size();
}

std::string_view short_name(std::string_view host) {
    return host.substr(0, host.find('.'));
}

// Hosts with slots, each once, in the order in which they were added.
class Hosts {
public:
    Hosts(std::string own_name, std::string own_alias)
        : own_name_(std::move(own_name)), own_alias_(std::move(own_alias)) {}

    void add(const std::string& host, std::uint32_t slots) {
        const bool is_own = host == own_alias_ || short_name(host) == short_name(own_name_);
        const std::string& name = is_own ? own_name_ : host;
        const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                        [&](const HostSlots& known) { return known.host == name; });
        if (found == hosts_.end()) {
            hosts_.push_back({name, slots});
        } else {
            found->slots += slots;
        }
    }

    [[nodiscard]] std::vector<HostSlots> take() { return std::move(hosts_); }

private:
    std::string own_name_;
    std::string own_alias_;  // the batch system's name for this host; "" when it gives none
    std::vector<HostSlots> hosts_;
};

Status not_understood(const std::string& what) {
    return {Code::argument, what + " is not understood"};
}

Result<std::optional<Allocation>> slurm_allocation(const base::Environment& environment,
                                                   Hosts& hosts) {
    const auto list = find(environment, "SLURM_JOB_NODELIST");
    if (!list) return std::optional<Allocation>();
    const auto names = hosts_from_node_list(*list);
    if (!names.is_ok()) return not_understood("SLURM_JOB_NODELIST=" + *list);
    std::vector<std::uint32_t> counts(names.value().size(), 1);
    for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
        const auto text = find(environment, name);
        if (!text) continue;
        const auto told = counts_from(*text);
        if (!told || told->size() != counts.size()) {
            return not_understood(std::string(name) + "=" + *text +
                                  " beside SLURM_JOB_NODELIST=" + *list);
        }
        counts = *told;
        break;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) hosts.add(names.value()[i], counts[i]);
    return std::optional(Allocation{
        hosts.take(),
        "Slurm job " + find(environment, "SLURM_JOB_ID").value_or("?") + " (" + *list + ")",
        slurm_command});
}

Result<std::optional<Allocation>> pbs_allocation(const base::Environment& environment,
                                                 Hosts& hosts) {
    const auto file = find(environment, "PBS_NODEFILE");
    if (!file) return std::optional<Allocation>();
    auto text = os::read_whole_file(*file);
    if (!text.is_ok()) return std::move(text).failure().within("PBS_NODEFILE");
    const std::vector<std::string> names = words_of(text.value());
    if (names.empty())
        return not_understood("PBS_NODEFILE=" + *file + ", in which no machine stands,");
    for (const std::string& name : names) hosts.add(name, 1);
    return std::optional(
        Allocation{hosts.take(),
                   "PBS job " + find(environment, "PBS_JOBID").value_or("?") + " (" + *file + ")",
                   pbs_command});
}

Result<std::optional<Allocation>> lsf_allocation(const base::Environment& environment,
                                                 Hosts& hosts) {
    const std::string job = "LSF job " + find(environment, "LSB_JOBID").value_or("?");
    if (const auto pairs = find(environment, "LSB_MCPU_HOSTS")) {
        const std::vector<std::string> words = words_of(*pairs);
        const std::string refusal =
            "LSB_MCPU_HOSTS=" + *pairs + " (hosts, each with the number of its slots after it)";
        if (words.size() % 2 != 0) return not_understood(refusal);
        for (std::size_t i = 0; i < words.size(); i += 2) {
            const auto slots = base::parse_unsigned(words[i + 1]);
            if (!slots || *slots == 0 || *slots > range_hosts_max) return not_understood(refusal);
            hosts.add(words[i], static_cast<std::uint32_t>(*slots));
        }
        if (!words.empty())
            return std::optional(Allocation{hosts.take(), job + " (LSB_MCPU_HOSTS)", lsf_command});
    }
    const auto list = find(environment, "LSB_HOSTS");
    if (!list && find(environment, "LSB_MCPU_HOSTS")) {
        return not_understood("LSB_MCPU_HOSTS, which is empty,");
    }
    if (!list) return std::optional<Allocation>();
    const std::vector<std::string> names = words_of(*list);
    if (names.empty()) return not_understood("LSB_HOSTS, which is empty,");
    for (const std::string& name : names) hosts.add(name, 1);
    return std::optional(Allocation{hosts.take(), job + " (LSB_HOSTS)", lsf_command});
}

}  // namespace

Result<std::vector<std::string>> hosts_from_node_list(std::string_view list) {
    std::vector<std::string> hosts;
    for (std::string_view rest = list;;) {
        const std::size_t end = element_end(rest);
        if (!add_element(rest.substr(0, end), hosts) || hosts.size() > nodes_max) {
            return Status(Code::argument, "\"" + std::string(list) + "\" is no list of nodes");
        }
        if (end == rest.size()) return hosts;
        rest.remove_prefix(end + 1);
    }
}

std::optional<std::vector<std::uint32_t>> counts_from(std::string_view text) {
    std::vector<std::uint32_t> counts;
    for (std::string_view rest = text;;) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string_view word = rest.substr(0, end);
        const std::size_t open = word.find("(x");
        const bool is_repeated = open != std::string_view::npos;
        if (is_repeated && !word.ends_with(')')) return std::nullopt;
        const auto count = base::parse_unsigned(word.substr(0, open));
        const auto times = is_repeated
                               ? base::parse_unsigned(word.substr(open + 2, word.size() - open - 3))
                               : std::optional<std::uint64_t>(1);
        if (!count || !times || *count == 0 || *count > range_hosts_max) return std::nullopt;
        if (*times == 0 || *times > range_hosts_max || counts.size() + *times > range_hosts_max) {
            return std::nullopt;
        }
        counts.insert(counts.end(), *times, static_cast<std::uint32_t>(*count));
        if (end == rest.size()) return counts;
        rest.remove_prefix(end + 1);
    }
}

Result<std::optional<Allocation>> find_allocation(const base::Environment& environment,
                                                  const std::string& host_name) {
    Hosts hosts(host_name, find(environment, "SLURMD_NODENAME").value_or(""));
    auto found = slurm_allocation(environment, hosts);
    if (found.is_ok() && !found.value()) found = pbs_allocation(environment, hosts);
    if (found.is_ok() && !found.value()) found = lsf_allocation(environment, hosts);
    return found;
}

}  // namespace acp::run
