// SPDX-License-Identifier: BSD-3-Clause
// Finds and reads the files of a cgroup.
#include "os/cgroup.hpp"

#include "os/text_file.hpp"

namespace acp::os {

namespace {

// Takes the part before the separator off the front of text.
std::string_view cut(std::string_view& text, std::string_view separator) noexcept {
    const std::size_t at = text.find(separator);
    const std::string_view front = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
    return front;
}

bool has_word(std::string_view list, std::string_view word) noexcept {
    while (!list.empty()) {
        if (cut(list, ",") == word) return true;
    }
    return false;
}

struct Membership {
    std::string v1_path;  // path in the controller's own hierarchy; "" when there is none
    std::string v2_path;
};

// Lines are "number:controllers:path"; v2 is "0::path".
Membership membership_of(std::string_view controller, std::string_view cgroup) {
    Membership found;
    while (!cgroup.empty()) {
        std::string_view path = cut(cgroup, "\n");
        const std::string_view number = cut(path, ":");
        const std::string_view controllers = cut(path, ":");
        if (number == "0" && controllers.empty()) {
            found.v2_path = path;
        } else if (has_word(controllers, controller)) {
            found.v1_path = path;
        }
    }
    return found;
}

// Appends the directories from a cgroup up to the mount point. `root` is the part of the hierarchy
// that is mounted: in a container often the process's own cgroup, or "/" in a cgroup namespace.
void append_chain(std::vector<CgroupDirectory>& directories,
                  std::string_view mount_point,
                  std::string_view root,
                  std::string_view path,
                  bool is_v2) {
    if (root != "/" && path.starts_with(root)) path.remove_prefix(root.size());
    // the cgroup is outside the namespace: only the mount point is visible
    if (path.starts_with("/..")) path = "";
    std::string below(path);
    while (!below.empty() && below != "/") {
        directories.push_back({std::string(mount_point) + below, is_v2});
        below.resize(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
    }
    directories.push_back({std::string(mount_point), is_v2});
}

}  // namespace

std::vector<CgroupDirectory> cgroup_directories_from(std::string_view controller,
                                                     std::string_view cgroup,
                                                     std::string_view mountinfo) {
    const Membership member = membership_of(controller, cgroup);
    std::vector<CgroupDirectory> directories;
    while (!mountinfo.empty()) {
        // "id parent device root mount-point options fields... - type source super-options"
        std::string_view tail = cut(mountinfo, "\n");
        std::string_view head = cut(tail, " - ");
        for (int skipped = 0; skipped < 3; ++skipped) cut(head, " ");
        const std::string_view root = cut(head, " ");
        const std::string_view mount_point = cut(head, " ");
        const std::string_view type = cut(tail, " ");
        cut(tail, " ");
        if (type == "cgroup2" && !member.v2_path.empty()) {
            append_chain(directories, mount_point, root, member.v2_path, true);
        } else if (type == "cgroup" && !member.v1_path.empty() && has_word(tail, controller)) {
            append_chain(directories, mount_point, root, member.v1_path, false);
        }
    }
    return directories;
}

std::vector<CgroupDirectory> cgroup_directories(std::string_view controller) {
    return cgroup_directories_from(controller, read_text_file("/proc/self/cgroup").value_or(""),
                                   read_text_file("/proc/self/mountinfo").value_or(""));
}

std::optional<double> cpu_quota_of(const CgroupDirectory& directory) {
    std::optional<std::uint64_t> quota;
    std::optional<std::uint64_t> period;
    if (directory.is_v2) {
        const std::optional<std::string> text = read_text_file(directory.path + "/cpu.max");
        if (!text) return std::nullopt;
        std::string_view rest = *text;
        quota = leading_number(cut(rest, " "));
        period = leading_number(rest);
    } else {
        const auto number_in = [&](const char* name) {
            const std::optional<std::string> text = read_text_file(directory.path + name);
            return text ? leading_number(*text) : std::nullopt;  // "-1" is no number: no limit
        };
        quota = number_in("/cpu.cfs_quota_us");
        period = number_in("/cpu.cfs_period_us");
    }
    if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<CgroupMemory> memory_limit_of(const CgroupDirectory& directory) {
    // v1 writes "no limit" as the largest number of whole pages.
    constexpr std::uint64_t v1_no_limit = std::uint64_t{1} << 62;
    const char* limit_name = directory.is_v2 ? "/memory.max" : "/memory.limit_in_bytes";
    const char* usage_name = directory.is_v2 ? "/memory.current" : "/memory.usage_in_bytes";
    const char* droppable_name = directory.is_v2 ? "inactive_file" : "total_inactive_file";
    const std::optional<std::string> limit_text = read_text_file(directory.path + limit_name);
    const std::optional<std::uint64_t> limit =
        limit_text ? leading_number(*limit_text) : std::nullopt;
    if (!limit || *limit >= v1_no_limit) return std::nullopt;
    const std::uint64_t usage =
        leading_number(read_text_file(directory.path + usage_name).value_or("")).value_or(0);
    const std::uint64_t droppable =
        number_after(read_text_file(directory.path + "/memory.stat").value_or(""), droppable_name)
            .value_or(0);
    return CgroupMemory{*limit, usage > droppable ? usage - droppable : 0};
}

}  // namespace acp::os
