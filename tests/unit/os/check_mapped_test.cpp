// SPDX-License-Identifier: BSD-3-Clause
// Which ranges are memory: every refusal names the first bad address, and no content changes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "base/format.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/text_file.hpp"

namespace acp::os {
namespace {

using base::Code;

// Both ways of checking are tested: a range of few pages, and one of more.
constexpr std::uint64_t few = 4;
constexpr std::uint64_t many = 100;

class CheckMapped : public testing::TestWithParam<std::uint64_t> {
protected:
    // GetParam() pages that may be read and written, with one that may not after them.
    void SetUp() override {
        page_ = page_bytes();
        auto mapping = Mapping::map_anonymous((pages() + 1) * page_);
        ASSERT_TRUE(mapping.is_ok()) << mapping.failure().message();
        mapping_ = std::move(mapping).value();
        ASSERT_EQ(mprotect(start() + size(), page_, PROT_NONE), 0);
    }

    [[nodiscard]] static std::uint64_t pages() { return GetParam(); }

    [[nodiscard]] std::uint64_t page() const { return page_; }

    [[nodiscard]] char* start() const { return mapping_.data(); }

    [[nodiscard]] std::uint64_t size() const { return pages() * page_; }

    static void expect_refusal(const Status& status, const char* address, const char* reason) {
        ASSERT_FALSE(status.is_ok());
        EXPECT_EQ(status.code(), Code::argument);
        char text[32];
        std::snprintf(text, sizeof text, "0x%llx",
                      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)));
        EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(reason), std::string::npos) << status.message();
    }

private:
    Mapping mapping_;
    std::uint64_t page_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Pages, CheckMapped, testing::Values(few, many));

TEST_P(CheckMapped, accepts_memory_up_to_its_last_byte_and_no_further) {
    EXPECT_TRUE(check_mapped(start(), size()).is_ok());
    EXPECT_TRUE(check_mapped(start() + 1, size() - 1).is_ok());
    EXPECT_TRUE(check_mapped(start() + size() - 1, 1).is_ok());
    expect_refusal(check_mapped(start() + 1, size()), start() + size(), "not writable");
}

TEST_P(CheckMapped, refuses_a_hole_anywhere_in_the_range) {
    for (const std::uint64_t hole : {std::uint64_t{0}, pages() / 2, pages() - 1}) {
        char* address = start() + hole * page();
        ASSERT_EQ(munmap(address, page()), 0);
        expect_refusal(check_mapped(start(), size()), address, "not mapped");
        ASSERT_TRUE(map_private_over(address, page()).is_ok());
        EXPECT_TRUE(check_mapped(start(), size()).is_ok());
    }
}

TEST_P(CheckMapped, refuses_pages_that_cannot_be_written_or_read) {
    for (const std::uint64_t odd : {std::uint64_t{0}, pages() / 2, pages() - 1}) {
        char* address = start() + odd * page();
        for (const int protection : {PROT_READ, PROT_NONE, PROT_READ | PROT_EXEC}) {
            ASSERT_EQ(mprotect(address, page(), protection), 0);
            expect_refusal(check_mapped(start(), size()), address, "not writable");
        }
        ASSERT_EQ(mprotect(address, page(), PROT_READ | PROT_WRITE), 0);
        EXPECT_TRUE(check_mapped(start(), size()).is_ok());
    }
}

TEST_P(CheckMapped, accepts_read_only_pages_for_reads) {
    char* const odd = start() + pages() / 2 * page();
    ASSERT_EQ(mprotect(odd, page(), PROT_READ), 0);
    EXPECT_TRUE(check_mapped(start(), size(), Rights::read).is_ok());
    EXPECT_FALSE(check_mapped(start(), size(), Rights::read_write).is_ok());
    ASSERT_EQ(mprotect(odd, page(), PROT_NONE), 0);
    expect_refusal(check_mapped(start(), size(), Rights::read), odd, "not readable");
    ASSERT_EQ(munmap(odd, page()), 0);
    expect_refusal(check_mapped(start(), size(), Rights::read), odd, "not mapped");
}

TEST_P(CheckMapped, leaves_the_contents_alone) {
    std::memset(start(), 'x', size());
    EXPECT_TRUE(check_mapped(start() + 5, size() - 10).is_ok());
    EXPECT_EQ(std::string(start(), size()), std::string(size(), 'x'));
}

TEST_P(CheckMapped, accepts_a_shared_file_and_memory_made_of_pieces) {
    auto file = create_memory_file("check", size());
    ASSERT_TRUE(file.is_ok());
    const std::uint64_t half = pages() / 2 * page();
    ASSERT_TRUE(map_shared_over(start(), half, file.value().get(), 0).is_ok());
    EXPECT_TRUE(check_mapped(start(), size()).is_ok());
}

TEST_P(CheckMapped, refuses_ranges_that_are_no_ranges) {
    expect_refusal(check_mapped(start(), 0), start(), "0 bytes");
    expect_refusal(check_mapped(start(), UINT64_MAX), start(), "end of the address space");
    EXPECT_EQ(check_mapped(nullptr, size()).code(), Code::argument);
    const auto* top = reinterpret_cast<const char*>(UINTPTR_MAX);
    EXPECT_EQ(check_mapped(top, 1).code(), Code::argument);
    EXPECT_EQ(check_mapped(top - size() + 1, size()).code(), Code::argument);
}

TEST(CheckMappedMemory, accepts_stack_and_heap) {
    std::vector<char> heap(100'000);
    char stack[50'000];
    EXPECT_TRUE(check_mapped(heap.data(), heap.size()).is_ok());
    EXPECT_TRUE(check_mapped(stack, sizeof stack).is_ok());
    EXPECT_TRUE(check_mapped(stack, 1).is_ok());
}

TEST(CheckMappedMemory, refuses_a_constant) {
    static const char constant[] = "read only";
    EXPECT_EQ(check_mapped(constant, sizeof constant).code(), Code::argument);
}

TEST(CheckMappedMemory, refuses_the_pages_behind_the_end_of_a_mapped_file) {
    char name[] = "/tmp/check_mapped_XXXXXX";
    const FileDescriptor file(mkstemp(name));
    ASSERT_TRUE(file.is_open());
    unlink(name);
    ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(2 * page_bytes())), 0);
    auto mapping = Mapping::map_shared(file.get(), 2 * page_bytes());
    ASSERT_TRUE(mapping.is_ok());
    ASSERT_EQ(ftruncate(file.get(), 10), 0);
    EXPECT_TRUE(check_mapped(mapping.value().data(), 10).is_ok());
    const auto status = check_mapped(mapping.value().data(), 2 * page_bytes());
    ASSERT_FALSE(status.is_ok());
    EXPECT_NE(status.message().find(base::hex(
                  reinterpret_cast<std::uintptr_t>(mapping.value().data()) + page_bytes())),
              std::string::npos)
        << status.message();
}

// One rule: whatever the size of the range, and however many of its pages are absent, the first
// absent one is named.
TEST(CheckMappedMemory, refuses_absent_pages_in_ranges_of_every_size) {
    for (const std::uint64_t pages : {1U, 2U, 3U, 4U, 5U, 6U, 100U, 5000U}) {
        auto mapping = Mapping::map_anonymous(pages * page_bytes());
        ASSERT_TRUE(mapping.is_ok());
        char* const start = mapping.value().data();
        for (const std::uint64_t present :
             {std::uint64_t{0}, std::uint64_t{1}, pages / 2, pages - 1}) {
            auto file =
                create_memory_file("short", std::max<std::uint64_t>(present, 1) * page_bytes());
            ASSERT_TRUE(file.is_ok());
            const std::uint64_t there = std::max<std::uint64_t>(present, 1);
            ASSERT_TRUE(
                map_shared_over(start, pages * page_bytes(), file.value().get(), 0).is_ok());
            for (const Rights rights : {Rights::read, Rights::read_write}) {
                EXPECT_TRUE(check_mapped(start, there * page_bytes(), rights).is_ok());
                if (there == pages) continue;
                const auto status = check_mapped(start, pages * page_bytes(), rights);
                ASSERT_FALSE(status.is_ok()) << pages << " pages, " << there << " there";
                EXPECT_NE(status.message().find(base::hex(reinterpret_cast<std::uintptr_t>(start) +
                                                          there * page_bytes())),
                          std::string::npos)
                    << status.message();
            }
        }
    }
}

std::uint64_t resident_pages() {
    const std::string text = read_text_file("/proc/self/statm").value_or("");
    return leading_number(std::string_view(text).substr(std::min(text.find(' '), text.size())))
        .value_or(0);
}

TEST(CheckMappedMemory, accepts_64_gib_of_sparse_memory_without_committing_it) {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30;
    auto mapping = Mapping::map_anonymous(64 * gib);
    if (!mapping.is_ok()) GTEST_SKIP() << mapping.failure().message();
    const std::uint64_t before = resident_pages();
    EXPECT_TRUE(check_mapped(mapping.value().data(), mapping.value().bytes()).is_ok());
    EXPECT_LT(resident_pages(), before + 1024);
    char* odd = mapping.value().data() + 40 * gib;
    ASSERT_EQ(mprotect(odd, page_bytes(), PROT_READ), 0);
    EXPECT_FALSE(check_mapped(mapping.value().data(), mapping.value().bytes()).is_ok());
}

TEST(CheckMappedMemory, sees_through_a_thousand_mappings) {
    constexpr std::uint64_t pages = 2000;
    auto mapping = Mapping::map_anonymous(pages * page_bytes());
    ASSERT_TRUE(mapping.is_ok());
    char* start = mapping.value().data();
    for (std::uint64_t i = 0; i < pages; i += 2) {
        // Writable like its neighbours, yet another mapping.
        ASSERT_EQ(madvise(start + i * page_bytes(), page_bytes(), MADV_DONTDUMP), 0);
    }
    EXPECT_TRUE(check_mapped(start, mapping.value().bytes()).is_ok());
    ASSERT_EQ(mprotect(start + 1500 * page_bytes(), page_bytes(), PROT_READ), 0);
    EXPECT_FALSE(check_mapped(start, mapping.value().bytes()).is_ok());
    EXPECT_TRUE(check_mapped(start, 1500 * page_bytes()).is_ok());
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
