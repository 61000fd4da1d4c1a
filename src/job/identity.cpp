// SPDX-License-Identifier: BSD-3-Clause
// Reads the launcher's variables.
#include "job/identity.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/format.hpp"

namespace acp::job {

namespace {

constexpr std::string_view rank_name = "ACP_RANK";
constexpr std::string_view procs_name = "ACP_PROCS";
constexpr std::string_view slot_name = "ACP_SLOT";
constexpr std::string_view file_name = "ACP_NODE_FD";
constexpr std::string_view socket_name = "ACP_NODE_SOCKET";
constexpr std::string_view insist_name = "ACP_SINGLETON";

// Variables in which other launchers give the number of processes that they started.
constexpr std::array<std::string_view, 7> foreign_sizes = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",      "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_SIZE",  "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE"};

// Variables in which they number a process, without always giving the number of processes.
constexpr std::array<std::string_view, 3> foreign_ranks = {"PMIX_RANK", "PALS_RANKID",
                                                           "ALPS_APP_PE"};

std::optional<std::string_view> find(const std::vector<std::string>& environment,
                                     std::string_view name) {
    for (const std::string& entry : environment) {
        const std::string_view text(entry);
        if (text.size() > name.size() && text.substr(0, name.size()) == name &&
            text[name.size()] == '=') {
            return text.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

base::Status bad(std::string_view name, std::string_view seen) {
    return {base::Code::config, std::string(name) + "=" + base::printable(seen) +
                                    " is not what acprun sets there; these variables are for "
                                    "acprun alone: unset them, or start "
                                    "the program with acprun"};
}

base::Result<Identity> alone(const std::vector<std::string>& environment) {
    const auto foreign = foreign_job_of(environment);
    if (!foreign) return Identity{};
    const std::string count = foreign->procs ? std::to_string(*foreign->procs) : "N";
    return base::Status(
        base::Code::config,
        foreign->variable +
            (foreign->procs
                 ? " says that another launcher started several processes, but ACP cannot "
                 : " says that another launcher started this process, perhaps as one of "
                   "several, but ACP cannot ") +
            "join them into one job; start the program with `acprun -n " + count +
            "`, or set ACP_SINGLETON=1 if each is to be a job of one rank");
}

}  // namespace

std::vector<std::string> environment_of(const Identity& identity) {
    const auto entry = [](std::string_view name, std::uint32_t value) {
        return std::string(name) + "=" + std::to_string(value);
    };
    std::vector<std::string> entries{entry(rank_name, identity.rank),
                                     entry(procs_name, identity.procs),
                                     entry(slot_name, identity.slot)};
    if (identity.node_file >= 0) {
        entries.push_back(entry(file_name, static_cast<std::uint32_t>(identity.node_file)));
    }
    if (identity.node_socket) {
        entries.push_back(std::string(socket_name) + "=" + identity.node_socket->text());
    }
    return entries;
}

std::optional<ForeignJob> foreign_job_of(const std::vector<std::string>& environment) {
    const bool is_served = find(environment, file_name) || find(environment, socket_name);
    if (is_served || find(environment, insist_name) == "1") return std::nullopt;
    bool is_size_known = false;
    for (const std::string_view name : foreign_sizes) {
        const auto text = find(environment, name);
        const auto size = text ? number(*text) : std::nullopt;
        is_size_known = is_size_known || size;
        if (size && *size > 1)
            return ForeignJob{std::string(name) + "=" + std::string(*text), size};
    }
    for (const std::string_view name : foreign_ranks) {
        const auto text = find(environment, name);
        if (text && number(*text) && !is_size_known) {
            return ForeignJob{std::string(name) + "=" + std::string(*text), std::nullopt};
        }
    }
    return std::nullopt;
}

base::Result<Identity> identity_of(const std::vector<std::string>& environment) {
    const auto file = find(environment, file_name);
    const auto socket = find(environment, socket_name);
    // acprun passes insist_name on to no rank, so who sets it below one means a job of its own
    if ((!file && !socket) || find(environment, insist_name) == "1") {
        return alone(environment);
    }
    Identity identity;
    if (file) {
        const auto descriptor = number(*file);
        if (!descriptor || *descriptor > 0x7fffffff) {
            return bad(file_name, *file);
        }
        identity.node_file = static_cast<int>(*descriptor);
    }
    if (socket) {
        auto parsed = NodeSocket::from(*socket);
        if (!parsed.is_ok()) return bad(socket_name, *socket);
        identity.node_socket = std::move(parsed).value();
    }
    const auto read = [&](std::string_view name, std::uint32_t& into) -> base::Status {
        const auto text = find(environment, name);
        const auto value = text ? number(*text) : std::nullopt;
        if (!value) {
            return bad(name, text.value_or("(unset)"));
        }
        into = *value;
        return {};
    };
    if (auto status = read(rank_name, identity.rank); !status.is_ok()) {
        return status;
    }
    if (auto status = read(procs_name, identity.procs); !status.is_ok()) {
        return status;
    }
    if (auto status = read(slot_name, identity.slot); !status.is_ok()) {
        return status;
    }
    if (identity.procs == 0 || identity.rank >= identity.procs) {
        return bad(rank_name, std::to_string(identity.rank));
    }
    if (identity.slot >= identity.procs) return bad(slot_name, std::to_string(identity.slot));
    return identity;
}

}  // namespace acp::job
