// SPDX-License-Identifier: BSD-3-Clause
// Each right allows its accesses alone, and a forked child does not get the pages. System calls make
// the accesses: they fail where an instruction would raise a signal.
#include "os/page_rights.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <gtest/gtest.h>
#include <span>
#include <utility>

#include "os/mapping.hpp"
#include "os/memory_file.hpp"

#include "page_scene.hpp"
#include "support/child_process.hpp"

namespace acp::os {
namespace {

using test::must;

TEST(PageRightsTest, allow_what_they_name) {
    const std::uint64_t page = page_bytes();
    const auto file = must(create_memory_file("acp-test", page));
    auto pages = must(Mapping::map_shared(file.get(), page));
    const auto bytes = std::as_writable_bytes(std::span(pages.data(), 8));
    const auto allowed = [&](PageRights rights) {
        EXPECT_TRUE(set_page_rights(pages.data(), page, rights).is_ok());
        // The kernel reads or writes the page for the system call.
        return std::pair(write_at(file.get(), 0, bytes).is_ok(),
                         read_at(file.get(), 0, bytes).is_ok());
    };
    EXPECT_EQ(allowed(PageRights::none), std::pair(false, false));
    EXPECT_EQ(allowed(PageRights::read), std::pair(true, false));
    EXPECT_EQ(allowed(PageRights::read_write), std::pair(true, true));
    const PageOutcome refused = set_page_rights(pages.data() + 1, page, PageRights::read);
    EXPECT_EQ(refused.error, EINVAL);
    EXPECT_EQ(refused.address, pages.data() + 1);
}

TEST(PageRightsTest, end_a_child_that_touches_what_it_does_not_inherit) {
    auto pages = must(Mapping::map_anonymous(page_bytes()));
    must(keep_from_children(pages.data(), page_bytes()));
    acp::test::ChildProcess child([&] {
        std::signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler
        *static_cast<volatile char*>(pages.data()) = 1;
        return 0;
    });
    EXPECT_EQ(child.exit_code(), 128 + SIGSEGV);
}

}  // namespace
}  // namespace acp::os
