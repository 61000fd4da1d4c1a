// SPDX-License-Identifier: BSD-3-Clause
// Memory for keys: the advice that the kernel has for it, its guards, and its wiping. And random
// bytes, and libraries found at run time.
#include "os/secret_memory.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "os/random_bytes.hpp"
#include "os/shared_library.hpp"
#include "os/text_file.hpp"

namespace acp::os {
namespace {

SecretMemory secret_of(std::size_t bytes) {
    auto memory = SecretMemory::allocate(bytes);
    EXPECT_TRUE(memory.is_ok()) << memory.failure().message();
    return std::move(memory).value();
}

// The kernel's flags of the mapping in which an address lies: "rd wr mr ... ".
std::string flags_of(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const std::string smaps = read_text_file("/proc/self/smaps").value_or("");
    bool is_inside = false;
    std::size_t at = 0;
    while (at < smaps.size()) {
        const std::size_t end = std::min(smaps.find('\n', at), smaps.size());
        const std::string line = smaps.substr(at, end - at);
        unsigned long start = 0;
        unsigned long stop = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &start, &stop) == 2) {
            is_inside = start <= wanted && wanted < stop;
        } else if (is_inside && line.starts_with("VmFlags:")) {
            return line.substr(std::strlen("VmFlags:")) + " ";
        }
        at = end + 1;
    }
    return "";
}

// Whether advice about forked children has an effect: user emulation accepts and ignores it.
bool is_advice_followed() {
    const std::size_t bytes = 4096;
    void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool is_taken = page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0;
    const bool is_shown = is_taken && flags_of(page).find(" wf ") != std::string::npos;
    if (page != MAP_FAILED) munmap(page, bytes);
    return is_shown || !is_taken;
}

TEST(SecretMemory, is_out_of_core_dumps_out_of_children_and_locked) {
    if (!is_advice_followed()) GTEST_SKIP() << "an emulator that does not follow advice";
    SecretMemory secret = secret_of(100);
    const std::string flags = flags_of(secret.bytes().data());
    EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
    EXPECT_NE(flags.find(" wf "), std::string::npos) << flags;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their mlock does nothing
    EXPECT_EQ(flags.find(" lo ") != std::string::npos, secret.is_locked()) << flags;
#endif
}

TEST(SecretMemory, is_zero_aligned_and_writable_to_its_last_byte) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{4096},
                                    std::size_t{4097}, std::size_t{100'000}}) {
        SecretMemory secret = secret_of(bytes);
        ASSERT_EQ(secret.bytes().size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(secret.bytes().data()) % 64, 0U);
        EXPECT_TRUE(std::all_of(secret.bytes().begin(), secret.bytes().end(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
        std::fill(secret.bytes().begin(), secret.bytes().end(), std::byte{0x5a});
        EXPECT_EQ(secret.bytes().back(), std::byte{0x5a});
    }
}

TEST(SecretMemory, is_zero_in_a_child) {
    if (!is_advice_followed()) GTEST_SKIP() << "an emulator that does not follow advice";
    SecretMemory secret = secret_of(32);
    std::fill(secret.bytes().begin(), secret.bytes().end(), std::byte{0x5a});
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool is_zero = std::all_of(secret.bytes().begin(), secret.bytes().end(),
                                         [](std::byte byte) { return byte == std::byte{0}; });
        _exit(is_zero ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(secret.bytes()[0], std::byte{0x5a});
}

// Reads a byte, which must kill.
void touch(const std::byte* address) {
    const volatile std::byte* watched = address;
    static_cast<void>(*watched);
}

TEST(SecretMemoryDeathTest, is_guarded_on_both_sides) {
    SecretMemory secret = secret_of(4096);
    touch(secret.bytes().data());
    EXPECT_DEATH(touch(secret.bytes().data() + 4096), "");
    EXPECT_DEATH(touch(secret.bytes().data() - 1), "");
}

TEST(SecretMemory, moves_without_a_copy_left_behind) {
    SecretMemory first = secret_of(64);
    std::byte* where = first.bytes().data();
    where[0] = std::byte{7};
    SecretMemory second = std::move(first);
    EXPECT_EQ(second.bytes().data(), where);
    EXPECT_EQ(where[0], std::byte{7});
    second = secret_of(64);
    EXPECT_NE(second.bytes().data(), where);
    EXPECT_EQ(flags_of(where), "") << "given back";
}

TEST(SecretMemory, of_nothing_is_refused) {
    const auto secret = SecretMemory::allocate(0);
    ASSERT_FALSE(secret.is_ok());
    EXPECT_EQ(secret.failure().code(), base::Code::argument);
}

TEST(Wipe, leaves_zeros) {
    std::array<std::byte, 33> secret{};
    secret.fill(std::byte{0xff});
    wipe(std::span(secret).first(32));
    EXPECT_EQ(std::count(secret.begin(), secret.end(), std::byte{0}), 32);
    EXPECT_EQ(secret[32], std::byte{0xff});
    wipe({});
}

#if defined(__x86_64__)
// Lazy binding and signals save the registers on the stack, and copying leaves copied bytes in
// them.
TEST(Wipe, leaves_nothing_in_vector_registers) {
    std::array<unsigned long long, 4> found{};
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{0x5a});
    asm volatile(
        "movdqu (%0), %%xmm5\n\t"
        "movdqu (%0), %%xmm15" ::"r"(secret.data())
        : "xmm5", "xmm15", "memory");
    wipe(secret);
    asm volatile(
        "movdqu %%xmm5, (%0)\n\t"
        "movdqu %%xmm15, 16(%0)" ::"r"(found.data())
        : "memory");
    for (const auto part : found) EXPECT_EQ(part, 0U);
}
#endif

TEST(FillRandom, fills_all_and_never_the_same) {
    std::vector<std::byte> first(1000);
    std::vector<std::byte> second(1000);
    fill_random(first);
    fill_random(second);
    EXPECT_NE(first, second);
    // Of 1000 random bytes about four are zero; a hundred would be a miracle.
    EXPECT_LT(std::count(first.begin(), first.end(), std::byte{0}), 100);
    EXPECT_LT(std::count(second.end() - 100, second.end(), std::byte{0}), 50);
    fill_random({});
}

TEST(SharedLibrary, is_the_first_that_is_found) {
    const std::array<const char*, 2> names = {"libno-such-library.so.77", "libc.so.6"};
    auto library = SharedLibrary::open(names);
    ASSERT_TRUE(library.is_ok()) << library.failure().message();
    EXPECT_EQ(library.value().name(), "libc.so.6");
    std::size_t (*length)(const char*) = nullptr;
    ASSERT_TRUE(library.value().find("strlen", length));
    EXPECT_EQ(length("four"), 4U);
    EXPECT_FALSE(library.value().find("no_such_function", length));
    EXPECT_EQ(length, nullptr);
}

TEST(SharedLibrary, that_is_not_there_is_named) {
    const std::array<const char*, 2> names = {"libno-such-library.so.77", "libnor-this.so"};
    const auto library = SharedLibrary::open(names);
    ASSERT_FALSE(library.is_ok());
    EXPECT_EQ(library.failure().code(), base::Code::unsupported);
    EXPECT_NE(library.failure().message().find("libno-such-library.so.77"), std::string_view::npos);
    EXPECT_NE(library.failure().message().find("libnor-this.so"), std::string_view::npos);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
