// SPDX-License-Identifier: BSD-3-Clause
// The kinds of trackers that this kernel has, by their conformance test; and what a kernel without
// one says.
#include "dsm/tracker.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <vector>

#include "support/child_process.hpp"
#include "tracker_conformance.hpp"

namespace acp::dsm::test {
namespace {

std::vector<TrackerKind> kinds_here() {
    std::vector<TrackerKind> kinds;
    for (const TrackerKind kind : {TrackerKind::async, TrackerKind::sync, TrackerKind::protect}) {
        auto file = must(os::create_memory_file("acp-test", page_bytes));
        auto page = must(os::Mapping::map_shared(file.get(), page_bytes));
        MappedPages<> mapped(1);
        if (Tracker::start(kind, {page.data(), 1}, mapped).is_ok()) kinds.push_back(kind);
    }
    return kinds;
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         TrackerConformance,
                         testing::ValuesIn(kinds_here()),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(TrackerTest, leaves_memory_alone_on_one_node) {
    TrackedScene scene(TrackerKind::none, 4);
    *scene.page(1) = 'w';
    EXPECT_EQ(scene.plain(1)[0], 'w');
    EXPECT_EQ(scene.faults(), 0U);
    EXPECT_TRUE(scene.harvest().pages().empty());
    EXPECT_EQ(scene.tracker().kind(), TrackerKind::none);
}

}  // namespace
}  // namespace acp::dsm::test
