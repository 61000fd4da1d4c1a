// SPDX-License-Identifier: BSD-3-Clause
// Which tracker is chosen by which kernel, with the refusals that sandboxes and older kernels make.
#include "dsm/tracker_choice.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <utility>

#include "support/child_process.hpp"
#include "unit/os/page_scene.hpp"

namespace acp::dsm {
namespace {

using base::Code;
using base::PageFaultWay;
using os::test::must;

constexpr std::uint32_t scan_request = 0xc0606610;  // PAGEMAP_SCAN

TEST(TrackerChoice, is_none_on_one_node) {
    const TrackerChoice choice = must(choose_tracker(true, PageFaultWay::automatic));
    EXPECT_EQ(choice.kind, TrackerKind::none);
    EXPECT_NE(choice.reason.find("one node"), std::string::npos);
}

TEST(TrackerChoice, is_the_forced_one_except_none_on_several_nodes) {
    constexpr std::array wishes = {std::pair(PageFaultWay::async, TrackerKind::async),
                                   std::pair(PageFaultWay::sync, TrackerKind::sync),
                                   std::pair(PageFaultWay::protect, TrackerKind::protect)};
    for (const auto& [wish, kind] : wishes) {
        for (const bool is_one_node : {true, false}) {
            const TrackerChoice choice = must(choose_tracker(is_one_node, wish));
            EXPECT_EQ(choice.kind, kind);
            EXPECT_EQ(choice.reason, std::string("ACP_DSM_FAULTS=") + name_of(kind));
        }
    }
    EXPECT_EQ(must(choose_tracker(true, PageFaultWay::none)).kind, TrackerKind::none);
    const base::Status refused = choose_tracker(false, PageFaultWay::none).failure();
    EXPECT_EQ(refused.code(), Code::argument);
    EXPECT_NE(refused.message().find("ACP_DSM_FAULTS=none"), std::string::npos);
}

TEST(TrackerChoice, is_async_where_the_kernel_has_it) {
    if (!os::test::has_page_faults(os::PageFaultSupport::Kind::async)) {
        GTEST_SKIP() << os::probe_page_faults().reason;
    }
    EXPECT_EQ(must(choose_tracker(false, PageFaultWay::automatic)).kind, TrackerKind::async);
}

// The child ends with 0 if the choice has the reason; else it says what it had.
int expect_reason(const std::string& reason, bool is_protect) {
    const TrackerChoice choice = must(choose_tracker(false, PageFaultWay::automatic));
    const bool is_right =
        choice.kind == TrackerKind::protect || (!is_protect && choice.kind == TrackerKind::sync);
    if (is_right && choice.reason.find(reason) != std::string::npos) return 0;
    std::fprintf(stderr, "%s: %s\n", name_of(choice.kind), choice.reason.c_str());
    return 2;
}

TEST(TrackerChoice, is_measured_where_the_kernel_has_no_scan_of_written_pages) {
    if (!os::test::has_page_faults(os::PageFaultSupport::Kind::sync)) {
        GTEST_SKIP() << os::probe_page_faults().reason;
    }
    acp::test::ChildProcess child([] {
        if (!os::test::refuse_call(SYS_ioctl, ENOTTY, scan_request)) return 1;
        return expect_reason("a first write takes", false);
    });
    EXPECT_EQ(child.exit_code(), 0);
}

TEST(TrackerChoice, is_protect_where_userfaultfd_is_refused) {
    acp::test::ChildProcess child([] {
        if (!os::test::refuse_call(SYS_userfaultfd, EPERM)) return 1;
        return expect_reason("userfaultfd", true);
    });
    EXPECT_EQ(child.exit_code(), 0);
}

TEST(TrackerChoice, knows_the_cost_of_both_fallbacks) {
    auto cost = measure_first_writes();
    if (!cost.is_ok()) GTEST_SKIP() << cost.failure().message();
    EXPECT_GT(cost.value().sync_ns, 0);
    EXPECT_GT(cost.value().protect_ns, 0);
}

}  // namespace
}  // namespace acp::dsm
