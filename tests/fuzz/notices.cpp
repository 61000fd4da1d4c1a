// SPDX-License-Identifier: BSD-3-Clause
// The notices of a connected node: any bytes. Whatever the parser accepts lies in the window, is in
// its only form, and merges with the notices of a second node. Any runs of this node are encoded so
// that they are accepted. One thread.
#include "pages/notices.hpp"

#include <algorithm>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace acp::fuzz {
namespace {

using namespace pages;

void check_merged(NoticeMerger& merger, std::uint64_t window) {
    PageNumber end = 0;
    for (const MergedRun& run : merger.merge()) {
        require(run.count != 0 && run.first >= end, "runs in ascending order");
        end = run.first + run.count;
        const bool is_written = (run.kinds & notice_written) != 0;
        require(is_written == (run.writer != no_node), "a written page has a writer");
        require(run.writer == no_node || run.writer == several_nodes || run.writer < 2, "of these");
    }
    require(end <= window, "within the window");
}

void read_notices(Input& input) {
    const std::uint64_t window = input.take<std::uint64_t>() % (notice_pages_max + 1);
    const std::vector<std::byte> one = input.piece();
    const std::vector<std::byte> two = input.piece();
    NoticeMerger merger;
    NodeNumber node = 0;
    for (const auto* bytes : {&one, &two}) {
        const auto notices = Notices::parse(*bytes, window);
        if (!notices) return;
        NoticeMerger again;
        again.add(*notices, node);
        require(std::ranges::equal(again.encode(), *bytes), "notices have one form");
        merger.add(*notices, node++);
    }
    check_merged(merger, window);
}

void write_notices(Input& input) {
    constexpr std::uint64_t window = 1U << 17;
    NoticeMerger merger;
    std::uint64_t pages = 0;
    for (int i = 0; i < 300 && !input.is_empty(); ++i) {
        const NoticeRun run{input.take<std::uint16_t>(), 1 + std::uint64_t{input.byte()},
                            static_cast<NoticeKinds>(1 + input.below(notice_kinds_all))};
        merger.add(run, 0);
        pages += run.count;
    }
    const auto notices = Notices::parse(merger.encode(), window);
    require(notices.has_value(), "what is encoded is accepted");
    std::uint64_t parsed = 0;
    for (std::size_t i = 0; i < notices->count(); ++i) parsed += (*notices)[i].count;
    require(parsed <= pages && (parsed != 0) == (pages != 0), "the pages of the runs");
}

}  // namespace

void run(Input& input) {
    if (input.below(2) == 0) {
        read_notices(input);
    } else {
        write_notices(input);
    }
}

}  // namespace acp::fuzz
