// SPDX-License-Identifier: BSD-3-Clause
// Compares the masks of each two writers of a page.
#include "dsm/race_check.hpp"

#include <algorithm>
#include <cstring>

#include "os/file_data.hpp"

namespace acp::dsm {

using pages::NodeNumber;
using pages::PageNumber;

RaceCheck::RaceCheck(const Window& window, std::byte* memory, BlockFile file, base::PageCheck check)
    : window_(window),
      memory_(memory),
      bytes_(bytes(window.page_count(), check)),
      file_(file),
      masks_(reinterpret_cast<pages::WriterMasks<>::Word*>(memory + log_bytes),
             window.page_count(),
             entries(window.page_count(), check)) {}

void RaceCheck::add_touch(PageNumber page, std::uint32_t byte, std::uint32_t rank) const noexcept {
    pages::WrittenBytes bytes;
    bytes.add(byte);
    (void)masks_.add(page, {window_.node(), rank + 1, true}, bytes);
}

void RaceCheck::end_own_writes(PageRange pages) const noexcept {
    const pages::HomeTable<> homes = window_.homes();
    for (PageNumber page = pages.first; page < pages.first + pages.count; ++page) {
        if (homes.home(page) != window_.node()) continue;
        checked(page).end_own_writes();
        masks_.end(page, window_.node());
    }
}

void RaceCheck::find() {
    found_.races = 0;
    found_.kept = 0;
    found_.unchecked = masks_.unchecked();
    masks_.for_each_page([this](PageNumber page) { find_in(page); });
}

void RaceCheck::find_in(PageNumber page) {
    const NodeNumber home = window_.node();
    writers_.clear();
    writers_.push_back({{home, pages::PageWriter::unknown}, checked(page).own_writes()});
    masks_.for_each_writer(page,
                           [&](const pages::PageWriter& writer, const pages::WrittenBytes& bytes) {
                               if (writer.node == home && !writer.has_touched) {
                                   writers_.front().bytes.add(bytes);
                               } else {
                                   writers_.push_back({writer, bytes});
                               }
                           });
    for (auto one = writers_.begin(); one != writers_.end(); ++one)
        for (auto other = std::next(one); other != writers_.end(); ++other) add(page, *one, *other);
}

// Whether a node has written some of the bytes: then the race of the two writes is reported alone.
bool RaceCheck::has_written(NodeNumber node, const pages::WrittenBytes& bytes) const noexcept {
    return std::any_of(writers_.begin(), writers_.end(), [&](const Writer& its) {
        return its.writer.node == node && !its.writer.has_touched &&
               !(its.bytes & bytes).is_empty();
    });
}

void RaceCheck::add(PageNumber page, const Writer& one, const Writer& other) {
    if (one.writer.node == other.writer.node) return;
    if (one.writer.has_touched && other.writer.has_touched) return;
    if (one.writer.has_touched && has_written(one.writer.node, other.bytes)) return;
    if (other.writer.has_touched && has_written(other.writer.node, one.bytes)) return;
    const pages::WrittenBytes both = one.bytes & other.bytes;
    if (both.is_empty()) return;
    ++found_.races;
    if (found_.kept == RaceLog::races_max) return;
    const Writer& low = one.writer.node < other.writer.node ? one : other;
    const Writer& high = one.writer.node < other.writer.node ? other : one;
    const pages::ByteRun run = both.run_from(0);
    found_.list[found_.kept++] = {page,
                                  run.first,
                                  run.count,
                                  both.count(),
                                  window_.node(),
                                  {low.writer.node, high.writer.node},
                                  {low.writer.rank_next, high.writer.rank_next},
                                  low.writer.has_touched    ? 1U
                                  : high.writer.has_touched ? 2U
                                                            : 0U,
                                  0};
}

// Pages that no process has touched are holes of the file, and stay so.
void RaceCheck::begin_epoch() const noexcept {
    masks_.clear();
    const pages::HomeTable<> homes = window_.homes();
    const auto renew = [&](PageRange pages) {
        for (PageNumber page = pages.first; page < pages.first + pages.count; ++page)
            if (homes.home(page) == window_.node()) checked(page).end_own_writes();
    };
    const std::uint64_t bytes = window_.page_count() * pages::page_bytes;
    if (file_.fd < 0) {
        renew({0, window_.page_count()});
        return;
    }
    const std::uint64_t end = file_.offset + bytes;
    for (os::FileRange data = os::first_data(file_.fd, {file_.offset, end}); data.first < end;
         data = os::first_data(file_.fd, {data.end, end})) {
        const PageNumber first = (data.first - file_.offset) / pages::page_bytes;
        const PageNumber behind =
            (data.end - file_.offset + pages::page_bytes - 1) / pages::page_bytes;
        renew({first, behind - first});
        if (data.end == end) break;
    }
}

void RaceCheck::settle(std::span<const std::span<const char>> notices) const noexcept {
    RaceLog& log = *reinterpret_cast<RaceLog*>(memory_);
    log = RaceLog();
    constexpr std::size_t head = offsetof(RaceLog, list);
    for (const std::span<const char> notice : notices) {
        RaceLog its;
        if (notice.size() < head || notice.size() > sizeof its) continue;
        std::memcpy(&its, notice.data(), notice.size());
        log.races += its.races;
        log.unchecked += its.unchecked;
        const std::uint64_t listed =
            std::min<std::uint64_t>(its.kept, (notice.size() - head) / sizeof(PageRace));
        for (std::uint64_t i = 0; i < listed && log.kept < RaceLog::races_max; ++i) {
            const PageRace& race = its.list[i];
            if (race.is_sound(window_.page_count(), window_.nodes())) log.list[log.kept++] = race;
        }
    }
}

}  // namespace acp::dsm
