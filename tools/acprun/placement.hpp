// SPDX-License-Identifier: BSD-3-Clause
// How many of a job's ranks each node gets, and the syntax of lists of hosts. Reads no file and
// starts nothing. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace acp::run {

inline constexpr std::uint32_t nodes_max = 62'500;  // most nodes of a job
// most characters of a host's name, without the user before it: the limit of DNS
inline constexpr std::size_t host_name_max = 253;

// A machine and its slots: the number of ranks to place on it before the next machine.
struct HostSlots {
    std::string host;  // a name as ssh accepts it: [USER@]HOST
    std::uint32_t slots = 1;

    friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

// Whether a text can be passed to ssh and to a shell as the name of a machine: letters, digits and
// ".-_@:%", no leading "-", and at most host_name_max characters.
[[nodiscard]] bool is_host_name(std::string_view host) noexcept;

// Describes a host's name that is too long: its length and the limit; nullopt if it is not.
[[nodiscard]] std::optional<std::string> describe_long_name(std::string_view host);

// Splits ranks over nodes as evenly as possible, more on the first ones.   1 <= nodes <= ranks
[[nodiscard]] std::vector<std::uint32_t> split_evenly(std::uint32_t ranks, std::uint32_t nodes);

// Parses "a:4,b,user@[fd00::1]:2": hosts with slots, 1 by default; the slots of a host that is
// named again are added. Errors: argument (the message shows the mistake).
base::Result<std::vector<HostSlots>> hosts_from_list(std::string_view list);

// Parses a host file: a host per line, then "slots=N", or "host:N"; "#" begins a comment. The slots
// of a host that is named again are added. Errors: argument (the message has name and line, and
// points at the mistake).
//   name  name of the file, for messages
base::Result<std::vector<HostSlots>> hosts_from_file(std::string_view text,
                                                     const std::string& name);

// Ranks per host: fills slots in order; if may_oversubscribe, the remaining ranks start again at
// the first host. A host may get 0. Errors: argument (no slot at all; more ranks than slots without
// may_oversubscribe).
base::Result<std::vector<std::uint32_t>> fill_slots(const std::vector<HostSlots>& hosts,
                                                    std::uint32_t ranks,
                                                    bool may_oversubscribe);

}  // namespace acp::run
