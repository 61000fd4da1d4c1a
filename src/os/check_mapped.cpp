// SPDX-License-Identifier: BSD-3-Clause
// check_mapped: whether a range is memory that can be read, or read and written. For a small range
// it uses MADV_POPULATE. For any other range, and after every refusal, it reads the kernel's list
// of mappings: by PROCMAP_QUERY (Linux 6.11) or as the text of /proc/self/maps, and looks at the
// last page of each mapping of a file.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/format.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"
#include "os/text_file.hpp"

namespace acp::os {

namespace {

using base::Code;

// MADV_POPULATE_READ and MADV_POPULATE_WRITE, absent from older headers; the numbers are the
// kernel's interface (Linux 5.14).
constexpr int populate_read = 22;
constexpr int populate_write = 23;

// For more pages than this the list of mappings is cheaper. Reading the list makes no pages
// resident except one of each mapped file.
constexpr std::uint64_t populated_pages_max = 4;

// One mapping: [start, end) and its access rights. Writable memory is readable too on every
// architecture we run on, whatever the list says.
struct Area {
    std::uint64_t start;
    std::uint64_t end;
    bool is_readable;
    bool is_writable;
    bool is_of_file;
};

// Argument of the ioctl PROCMAP_QUERY on /proc/PID/maps; the layout is the kernel's interface.
struct MapQuery {
    std::uint64_t size;
    std::uint64_t query_flags;  // 0: the mapping that covers query_address
    std::uint64_t query_address;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t flags;  // 1 readable, 2 writable
    std::uint64_t page_size;
    std::uint64_t offset;
    std::uint64_t inode;
    std::uint32_t device_major;
    std::uint32_t device_minor;
    std::uint32_t name_bytes;
    std::uint32_t build_id_bytes;
    std::uint64_t name_address;
    std::uint64_t build_id_address;
};

static_assert(sizeof(MapQuery) == 104);
constexpr unsigned long map_query_request = _IOWR('f', 17, MapQuery);

Status refusal(std::uint64_t address, const char* reason) {
    return {Code::argument, "memory at " + base::hex(address) + " " + reason};
}

// 0, or the errno of the first refusal.
int populate(void* start, std::uint64_t bytes, Rights rights) noexcept {
    const int advice = rights == Rights::read ? populate_read : populate_write;
    int outcome = 0;
    do {
        outcome = madvise(start, bytes, advice);
    } while (outcome != 0 && (errno == EINTR || errno == EAGAIN));
    return outcome == 0 ? 0 : errno;
}

// Whether the kernel can read a page for this process. It can read pages of memfd_secret, which it
// refuses to populate; it cannot read pages after the end of a file. It copies a byte into a pipe;
// where no descriptor is left for one, it populates the page.
bool is_page_there(std::uint64_t page) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address from the list of mappings
    void* const address = reinterpret_cast<void*>(page);
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return populate(address, page_bytes(), Rights::read) != EFAULT;
    }
    const FileDescriptor reading(ends[0]);
    const FileDescriptor writing(ends[1]);
    return write(writing.get(), address, 1) == 1 || errno != EFAULT;
}

// The first of the pages [first, end) of a mapping that lies after the end of its file; `end` if
// none does. A binary search: all pages after the first such page are absent too.
std::uint64_t first_absent_page(std::uint64_t first, std::uint64_t end) noexcept {
    const std::uint64_t page = page_bytes();
    if (is_page_there(end - page)) return end;
    std::uint64_t absent = end - page;
    while (first < absent) {
        const std::uint64_t middle = first + (absent - first) / page / 2 * page;
        if (is_page_there(middle)) {
            first = middle + page;
        } else {
            absent = middle;
        }
    }
    return absent;
}

// Follows the areas from start to end. Pass them to see() in rising order; areas before start are
// skipped.
class Walk {
public:
    Walk(std::uint64_t start, std::uint64_t end, Rights rights) noexcept
        : position_(start), end_(end), rights_(rights) {}

    [[nodiscard]] bool is_over() const noexcept { return reason_ != nullptr || position_ >= end_; }

    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

    void see(const Area& area) noexcept {
        if (area.end <= position_) return;
        if (area.start > position_) return fail("is not mapped");
        if (rights_ == Rights::read_write && !area.is_writable) return fail("is not writable");
        if (!area.is_readable && !area.is_writable) return fail("is not readable");
        if (area.is_of_file) {
            const std::uint64_t end = std::min(area.end, end_);
            position_ = first_absent_page(position_, end);
            if (position_ < end) {
                return fail("cannot be accessed, it lies beyond the end of a mapped file");
            }
        }
        position_ = area.end;
    }

    void fail(const char* reason) noexcept { reason_ = reason; }

    [[nodiscard]] Status result() const {
        if (reason_ != nullptr) return refusal(position_, reason_);
        return position_ >= end_ ? Status() : refusal(position_, "is not mapped");
    }

private:
    std::uint64_t position_;  // at a page; all bytes before this were accepted
    std::uint64_t end_;
    Rights rights_;
    const char* reason_ = nullptr;
};

// false when the kernel does not know the ioctl.
bool walk_by_query(Walk& walk) noexcept {
    const FileDescriptor maps(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    if (!maps.is_open()) return false;
    while (!walk.is_over()) {
        MapQuery query{};
        query.size = sizeof query;
        query.query_address = walk.position();
        if (ioctl(maps.get(), map_query_request, &query) != 0) {
            if (errno == EINTR) continue;
            if (errno != ENOENT) return false;
            walk.fail("is not mapped");
            break;
        }
        walk.see({query.start, query.end, (query.flags & 1) != 0, (query.flags & 2) != 0,
                  query.inode != 0});
    }
    return true;
}

// A line is "start-end rwxp offset device inode path".
std::optional<Area> parse_area(std::string_view line) noexcept {
    Area area{};
    const char* end = line.data() + line.size();
    const auto start_read = std::from_chars(line.data(), end, area.start, 16);
    if (start_read.ec != std::errc() || start_read.ptr == end) return std::nullopt;
    const auto end_read = std::from_chars(start_read.ptr + 1, end, area.end, 16);
    if (end_read.ec != std::errc() || end - end_read.ptr < 3) return std::nullopt;
    area.is_readable = end_read.ptr[1] == 'r';
    area.is_writable = end_read.ptr[2] == 'w';
    std::string_view rest(end_read.ptr, static_cast<std::size_t>(end - end_read.ptr));
    for (int field = 0; field < 4; ++field) {
        rest.remove_prefix(std::min(rest.find(' '), rest.size()));
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    area.is_of_file = !rest.empty() && rest.front() != '0';
    return area;
}

// false when /proc is not mounted.
bool walk_by_text(Walk& walk) {
    const std::optional<std::string> text = read_text_file("/proc/self/maps");
    if (!text) return false;
    std::string_view rest = *text;
    while (!rest.empty() && !walk.is_over()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
        if (const auto area = parse_area(line)) walk.see(*area);
    }
    return true;
}

// Whether MADV_POPULATE works as documented: an emulator may accept advice that it does not know.
// Tests it on page 0, which is never mapped.
bool is_populate_honest() noexcept {
    // relaxed, both: every thread computes the same answer
    static std::atomic<int> answer{0};
    int known = answer.load(std::memory_order_relaxed);
    if (known == 0) {
        known = madvise(nullptr, page_bytes(), populate_read) != 0 && errno == ENOMEM ? 1 : 2;
        answer.store(known, std::memory_order_relaxed);
    }
    return known == 1;
}

}  // namespace

Status check_mapped(const void* address, std::uint64_t bytes, Rights rights) {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    if (bytes == 0) return refusal(first, "has a size of 0 bytes");
    if (bytes - 1 > UINT64_MAX - first) {
        return refusal(first, "with this size goes beyond the end of the address space");
    }
    const std::uint64_t page = page_bytes();
    const std::uint64_t start = first & ~(page - 1);
    void* first_page = const_cast<char*>(static_cast<const char*>(address)) - (first - start);
    const std::uint64_t last_page = (first + (bytes - 1)) & ~(page - 1);
    if (last_page > UINT64_MAX - page) return refusal(last_page, "is not mapped");
    const std::uint64_t end = last_page + page;

    int populate_error = 0;
    if (end - start <= populated_pages_max * page && is_populate_honest()) {
        populate_error = populate(first_page, end - start, rights);
        if (populate_error == 0) return {};
    }
    Walk walk(start, end, rights);
    if (!walk_by_query(walk)) {
        walk = Walk(start, end, rights);
        if (!walk_by_text(walk)) {
            // Without /proc there is no list, but msync() fails unless the whole range is mapped.
            const bool is_mapped = msync(first_page, end - start, MS_ASYNC) == 0;
            return is_mapped && populate_error == 0
                       ? Status()
                       : refusal(first, "is not mapped, or not readable and writable");
        }
    }
    return walk.result();
}

}  // namespace acp::os
