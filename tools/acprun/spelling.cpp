// SPDX-License-Identifier: BSD-3-Clause
// The tables of old and foreign names, and the search for the option that was meant.
#include "spelling.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/edit_distance.hpp"

namespace acp::run {

namespace {

// An option of version 3.0 that has another name now.
struct OldName {
    std::string_view name;
    std::string_view today;
};

constexpr std::array old_names{
    OldName{"np", "procs"},
    OldName{"machinefile", "hostfile"},
    OldName{"nodefile", "hostfile"},
    OldName{"rsh", "ssh"},
    OldName{"smemsize", "starter-size"},
    OldName{"size-smem", "starter-size"},
    OldName{"startermemsize", "starter-size"},
    OldName{"smemsize-dl", "heap-size"},
    OldName{"size-smem-dl", "heap-size"},
    OldName{"startermemsize-dl", "heap-size"},
};

// An option of version 3.0 or of another launcher without an equivalent; the sentence says what to
// use instead.
struct GoneName {
    std::string_view name;
    std::string_view instead;
};

constexpr std::string_view no_layer_memory =
    "the layers above the basic one need no memory of their own at the start; leave the option out "
    "(--starter-size sets the starter memory of the program)";
constexpr std::string_view no_ports =
    "the system chooses the ports, and acprun tells them to all nodes; leave the option out (--net "
    "chooses networks)";
constexpr std::string_view by_acprun =
    "acprun numbers the ranks itself; -n says how many there are";
constexpr std::string_view no_hook = "malloc is not replaced; leave the option out";
constexpr std::string_view by_hosts =
    "--hosts names machines, --nodes K emulates K nodes on this one";
constexpr std::string_view by_slots = "--hosts HOST:SLOTS says how many ranks a machine gets";
constexpr std::string_view by_bind = "--bind core gives each rank a CPU of its own";
constexpr std::string_view by_export = "-x NAME=VALUE sets a variable for the ranks";

constexpr std::string_view by_cd = "the ranks run in the directory acprun is started in: cd first";

constexpr std::array gone_names{
    GoneName{"smemsize-cl", no_layer_memory},
    GoneName{"size-smem-cl", no_layer_memory},
    GoneName{"startermemsize-cl", no_layer_memory},
    GoneName{"port-local", no_ports},
    GoneName{"port-remote", no_ports},
    GoneName{"host-remote", no_ports},
    GoneName{"portfile", no_ports},
    GoneName{"ethernet-speed",
             "the speed of the network is measured while it is used; leave the option out"},
    GoneName{"myrank", by_acprun},
    GoneName{"nprocs", by_acprun},
    GoneName{"offsetrank", by_acprun},
    GoneName{"multrank", by_slots},
    GoneName{"taskid", "acprun gives each job a random name (ACP_JOB_ID); leave the option out"},
    GoneName{"malloc-hook-small", no_hook},
    GoneName{"malloc-hook-large", no_hook},
    GoneName{"malloc-hook-huge", no_hook},
    GoneName{"malloc-hook-low", no_hook},
    GoneName{"malloc-hook-high", no_hook},
    GoneName{"H", by_hosts},
    GoneName{"host", by_hosts},
    GoneName{"node", by_hosts},
    GoneName{"N", by_slots},
    GoneName{"ppn", by_slots},
    GoneName{"npernode", by_slots},
    GoneName{"map-by", by_slots},
    GoneName{"bind-to", by_bind},
    GoneName{"genv", by_export},
    GoneName{"env", by_export},
    GoneName{"wdir", by_cd},
    GoneName{"wd", by_cd},
};

// Names of networks of version 3.0: now there is only UDP between nodes.
constexpr std::array network_names{std::string_view("envnet"), std::string_view("ndev")};

// "-np=4" cut into the dashes, the name without the "acp-" of version 3.0, and the rest from "="
// on.
struct Parts {
    std::string_view dashes;
    std::string_view name;
    std::string_view assignment;
};

Parts parts_of(std::string_view argument) {
    Parts parts;
    parts.dashes = argument.substr(0, argument.starts_with("--") ? 2 : 1);
    argument.remove_prefix(parts.dashes.size());
    constexpr std::string_view old_prefix = "acp-";
    if (argument.starts_with(old_prefix)) argument.remove_prefix(old_prefix.size());
    const std::size_t end = std::min(argument.find('='), argument.size());
    parts.name = argument.substr(0, end);
    parts.assignment = argument.substr(end);
    return parts;
}

bool has(std::string_view letters, char letter) {
    return letters.find(letter) != std::string_view::npos;
}

// Accepts "-n4", "-n=4", "-xNAME=VALUE", "-qh": letters of options, the last one with its value.
bool is_letters(const Parts& parts, const OptionNames& names) {
    const std::string_view name = parts.name;
    if (parts.dashes.size() != 1 || name.empty()) return false;
    if (name.size() == 1)
        return has(names.letters_alone, name[0]) || has(names.letters_valued, name[0]);
    if (name[0] == 'x') return has(names.letters_valued, 'x');
    const bool has_number =
        std::string_view("+-.0123456789").find(name[1]) != std::string_view::npos;
    if (has(names.letters_valued, name[0])) return has_number;
    return std::all_of(name.begin(), name.end(),
                       [&](char letter) { return has(names.letters_alone, letter); });
}

Spelling refused(std::string_view argument, const std::string& why) {
    return {"", "unknown option " + std::string(argument) + why, false};
}

Spelling unknown(std::string_view argument, const Parts& parts, const OptionNames& names) {
    const std::string_view asked = argument.substr(0, argument.size() - parts.assignment.size());
    std::vector<std::string_view> known(names.words.begin(), names.words.end());
    if (parts.name.size() < 2) return refused(asked, "");
    const auto nearest = base::nearest_word(parts.name, known);
    return refused(asked, nearest ? "; did you mean --" + std::string(*nearest) + "?" : "");
}

Spelling network_spelling(std::string_view argument, const Parts& parts, std::string_view next) {
    const bool has_next = parts.assignment.empty();
    const std::string_view value = has_next ? next : parts.assignment.substr(1);
    if (value == "udp") return {"", "", has_next};
    return {"",
            std::string(argument) + (has_next && !value.empty() ? " " + std::string(value) : "") +
                ": between nodes there is UDP alone; leave the option out (--net chooses the "
                "networks it uses)",
            false};
}

}  // namespace

Spelling spelling_of(std::string_view argument, std::string_view next, const OptionNames& names) {
    const Parts parts = parts_of(argument);
    const auto today = [&](std::string_view name) {
        return Spelling{"--" + std::string(name) + std::string(parts.assignment), "", false};
    };
    const auto is_it = [&](const auto& entry) { return entry.name == parts.name; };
    if (is_letters(parts, names)) return {std::string(argument), "", false};
    if (std::find(names.words.begin(), names.words.end(), parts.name) != names.words.end()) {
        return today(parts.name);
    }
    if (const auto old = std::find_if(old_names.begin(), old_names.end(), is_it);
        old != old_names.end()) {
        return today(old->today);
    }
    if (std::find(network_names.begin(), network_names.end(), parts.name) != network_names.end()) {
        return network_spelling(argument, parts, next);
    }
    if (const auto gone = std::find_if(gone_names.begin(), gone_names.end(), is_it);
        gone != gone_names.end()) {
        Spelling spelling = unknown(argument, parts, names);
        spelling.refusal +=
            (spelling.refusal.ends_with('?') ? " " : ": ") + std::string(gone->instead);
        return spelling;
    }
    return unknown(argument, parts, names);
}

}  // namespace acp::run
