// SPDX-License-Identifier: BSD-3-Clause
// Which node gets how many of a job's ranks, and how lists of hosts are written. Reads no file and starts nothing.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace acp::run {

inline constexpr std::uint32_t nodes_max = 62'500;  // of a job

// A machine and how many ranks it shall have at once.
struct HostSlots {
    std::string host;  // as ssh takes it
    std::uint32_t slots = 1;

    friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

// Whether a text can be given to ssh and to a shell as the name of a machine: letters, digits and ".-_@:%", and no "-"
// in front.
[[nodiscard]] bool is_host_name(std::string_view host) noexcept;

// n ranks over nodes, as evenly as possible, more on the first ones.   1 <= nodes <= ranks
[[nodiscard]] std::vector<std::uint32_t> split_evenly(std::uint32_t ranks, std::uint32_t nodes);

// "a:4,b,user@[fd00::1]:2": hosts with slots, 1 where none are said; a host that comes again has more slots.
// Errors: argument (the message shows the place).
base::Result<std::vector<HostSlots>> hosts_from_list(std::string_view list);

// The text of a host file: a host per line, then "slots=N", or "host:N"; "#" begins a comment. Hosts that come again
// have more slots. Errors: argument (the message says name and line, and points at the place).
//   name  of the file, for messages
base::Result<std::vector<HostSlots>> hosts_from_file(std::string_view text,
                                                     const std::string& name);

// Ranks per host, filling slots in order; what does not fit starts again at the first host when it may. Hosts that
// get none are 0. Errors: argument (more ranks than slots, and it may not).
base::Result<std::vector<std::uint32_t>> fill_slots(const std::vector<HostSlots>& hosts,
                                                    std::uint32_t ranks,
                                                    bool may_oversubscribe);

}  // namespace acp::run
