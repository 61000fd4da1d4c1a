// SPDX-License-Identifier: BSD-3-Clause
// Registration: refused calls (nothing, unmapped or read-only memory, colours, keys, too many) and
// valid ones (stack, overlap, repetition, any kind of mapping).
#include <climits>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "api/canary.hpp"

#include "support/mode.hpp"

namespace acp::test {
namespace {

class RegistrationTest : public RankedTest {
protected:
    static void expect_refused(void* address,
                               std::size_t bytes,
                               int color,
                               const std::string& named) {
        SCOPED_TRACE(testing::Message()
                     << "register " << address << ", " << bytes << ", " << color);
        EXPECT_EQ(acp_register_memory(address, bytes, color), ACP_ATKEY_NULL);
        expect_error(ACP_ERR_ARGUMENT, {named});
    }

    // Copies a word by the registration, from and to this rank's starter memory.
    void expect_usable(acp_atkey_t key, void* place) const {
        const acp_ga_t address = acp_query_ga(key, place);
        ASSERT_NE(address, ACP_GA_NULL) << acp_error_message();
        const acp_ga_t own = acp_query_starter_ga(rank_);
        auto* word = static_cast<std::uint64_t*>(acp_query_address(own));
        *word = 0x1122'3344'5566'7788;
        expect_done(acp_copy(address, own, 8, ACP_HANDLE_NULL));
        std::uint64_t seen = 0;
        std::memcpy(&seen, place, 8);
        EXPECT_EQ(seen, *word);
    }
};

// Pages that the destructor unmaps.
class Pages {
public:
    Pages(std::size_t count, int protection, int flags = MAP_PRIVATE)
        : bytes_(count * static_cast<std::size_t>(getpagesize())),
          address_(mmap(nullptr, bytes_, protection, flags | MAP_ANONYMOUS, -1, 0)) {}

    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    ~Pages() { munmap(address_, bytes_); }

    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(address_); }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    void* address_;
};

TEST_F(RegistrationTest, refuses_zero_bytes_and_null) {
    std::uint64_t word = 3;
    expect_refused(&word, 0, 0, "0");
    expect_refused(nullptr, 8, 0, "");
    expect_refused(nullptr, 0, 0, "");
    EXPECT_EQ(word, 3U);
}

TEST_F(RegistrationTest, refuses_colours_out_of_range) {
    std::uint64_t word = 3;
    for (const int wrong : {-1, acp_colors(), INT_MAX, INT_MIN}) {
        expect_refused(&word, sizeof word, wrong, std::to_string(wrong));
    }
}

TEST_F(RegistrationTest, refuses_memory_that_is_not_mapped) {
    std::byte* gone = nullptr;
    std::size_t bytes = 0;
    {
        const Pages pages(4, PROT_READ | PROT_WRITE);
        gone = pages.data();
        bytes = pages.bytes();
    }
    expect_refused(gone, bytes, 0, "");
    expect_refused(gone, 1, 0, "");
    expect_refused(reinterpret_cast<void*>(std::uintptr_t{64}), 8, 0, "");
    std::uint64_t word = 0;
    expect_refused(&word, SIZE_MAX, 0, "");
    expect_refused(&word, SIZE_MAX - reinterpret_cast<std::uintptr_t>(&word) + 2, 0, "");
}

TEST_F(RegistrationTest, refuses_memory_with_a_hole_or_without_the_right_to_write) {
    const Pages pages(4, PROT_READ | PROT_WRITE);
    const auto page = static_cast<std::size_t>(getpagesize());
    munmap(pages.data() + page, page);
    expect_refused(pages.data(), pages.bytes(), 0, "");
    expect_refused(pages.data() + page - 1, 2, 0, "");
    const Pages read_only(2, PROT_READ);
    expect_refused(read_only.data(), read_only.bytes(), 0, "");
    const Pages forbidden(2, PROT_NONE);
    expect_refused(forbidden.data(), forbidden.bytes(), 0, "");
    const acp_atkey_t key = acp_register_memory(pages.data(), page, 0);
    EXPECT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    EXPECT_EQ(acp_unregister_memory(key), 0);
}

TEST_F(RegistrationTest, refuses_keys_that_never_were) {
    std::uint64_t word = 0;
    for (const acp_atkey_t wrong :
         {ACP_ATKEY_NULL, acp_atkey_t{1}, ~acp_atkey_t{0}, acp_query_starter_ga(rank_)}) {
        EXPECT_EQ(acp_unregister_memory(wrong), -1);
        EXPECT_TRUE(acp_errno() == ACP_ERR_ARGUMENT || acp_errno() == ACP_ERR_STALE)
            << acp_error_message();
        EXPECT_EQ(acp_query_ga(wrong, &word), ACP_GA_NULL);
        EXPECT_EQ(std::string(acp_error_message()).rfind("acp_query_ga by rank ", 0), 0U)
            << acp_error_message();
        EXPECT_TRUE(acp_errno() == ACP_ERR_ARGUMENT || acp_errno() == ACP_ERR_STALE)
            << acp_error_message();
        EXPECT_STRNE(acp_error_message(), "");
    }
}

TEST_F(RegistrationTest, refuses_to_end_a_registration_twice) {
    std::uint64_t word = 0;
    const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
    EXPECT_EQ(acp_unregister_memory(key), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
}

TEST_F(RegistrationTest, allows_at_least_4096_and_fails_with_limit_when_full) {
    std::vector<std::uint64_t> memory(100'000);
    std::vector<acp_atkey_t> keys;
    for (std::size_t index = 0; index < memory.size(); ++index) {
        const acp_atkey_t key = acp_register_memory(&memory[index], 8, 0);
        if (key == ACP_ATKEY_NULL) {
            EXPECT_EQ(acp_errno(), ACP_ERR_LIMIT) << acp_error_message();
            EXPECT_NE(std::string(acp_error_message()).find_first_of("0123456789"),
                      std::string::npos)
                << "the message does not say the limit: " << acp_error_message();
            break;
        }
        keys.push_back(key);
    }
    EXPECT_GE(keys.size(), 4096U);
    for (std::size_t index = 0; index < keys.size(); index += 97) {
        expect_usable(keys[index], &memory[index]);
    }
    // After one registration has ended there is room for another.
    ASSERT_EQ(acp_unregister_memory(keys.back()), 0) << acp_error_message();
    keys.back() = acp_register_memory(&memory[keys.size() - 1], 8, 0);
    EXPECT_NE(keys.back(), ACP_ATKEY_NULL) << acp_error_message();
    for (const acp_atkey_t key : keys) {
        ASSERT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
    }
}

TEST_F(RegistrationTest, takes_as_many_after_puts_that_were_registered_for_their_time) {
    std::vector<char> memory(2'000'000);
    const auto count_room = [&] {
        std::vector<acp_atkey_t> keys;
        for (acp_atkey_t key = 0; (key = acp_register_memory(memory.data(), 64, 0)) != 0;) {
            keys.push_back(key);
        }
        for (const acp_atkey_t key : keys) EXPECT_EQ(acp_unregister_memory(key), 0);
        return keys.size();
    };
    const std::size_t before = count_room();
    for (std::size_t i = 0; i < 12; ++i) {  // too long for the calling thread to move at once
        expect_done(acp_put(acp_query_starter_ga(rank_), &memory[i], 300'000, ACP_HANDLE_NULL));
    }
    EXPECT_EQ(count_room(), before);
    sync_ranks();
}

TEST_F(RegistrationTest, takes_memory_on_the_stack) {
    std::uint64_t words[512] = {};
    const acp_atkey_t key = acp_register_memory(words, sizeof words, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    expect_usable(key, words);
    expect_usable(key, &words[511]);
    // Another rank reaches the memory too.
    if (mode().reaches_private_memory()) {
        const auto addresses = exchange(acp_query_ga(key, &words[256]));
        auto* own = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank_)));
        *own = 500 + static_cast<std::uint64_t>(rank_);
        expect_done(acp_copy(addresses[static_cast<std::size_t>((rank_ + 1) % procs_)],
                             acp_query_starter_ga(rank_), 8, ACP_HANDLE_NULL));
        sync_ranks();
        EXPECT_EQ(words[256], 500 + static_cast<std::uint64_t>((rank_ + procs_ - 1) % procs_));
    }
    EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
}

TEST_F(RegistrationTest, takes_static_heap_shared_and_untouched_memory) {
    static std::uint64_t static_words[64];
    std::vector<std::uint64_t> heap(64);
    const Pages shared(3, PROT_READ | PROT_WRITE, MAP_SHARED);
    const Pages untouched(300, PROT_READ | PROT_WRITE);
    const auto check = [this](void* address, std::size_t bytes) {
        const acp_atkey_t key = acp_register_memory(address, bytes, 0);
        ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
        expect_usable(key, address);
        expect_usable(key, static_cast<std::byte*>(address) + bytes - 8);
        EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
    };
    check(static_words, sizeof static_words);
    check(heap.data(), 512);
    check(shared.data(), shared.bytes());
    check(untouched.data(), untouched.bytes());
}

TEST_F(RegistrationTest, gives_overlapping_and_repeated_registrations_keys_of_their_own) {
    std::vector<std::uint64_t> memory(64);
    const acp_atkey_t whole = acp_register_memory(memory.data(), 512, 0);
    const acp_atkey_t again = acp_register_memory(memory.data(), 512, 0);
    const acp_atkey_t part = acp_register_memory(&memory[32], 256, 0);
    ASSERT_NE(whole, ACP_ATKEY_NULL);
    ASSERT_NE(again, ACP_ATKEY_NULL);
    ASSERT_NE(part, ACP_ATKEY_NULL);
    EXPECT_NE(whole, again);
    EXPECT_NE(whole, part);
    EXPECT_NE(acp_query_ga(whole, &memory[40]), acp_query_ga(again, &memory[40]));
    const acp_ga_t through_whole = acp_query_ga(whole, &memory[40]);
    EXPECT_EQ(acp_unregister_memory(whole), 0) << acp_error_message();
    expect_failure(acp_copy(through_whole, acp_query_starter_ga(rank_), 8, ACP_HANDLE_NULL),
                   ACP_ERR_STALE);
    expect_usable(again, &memory[40]);
    expect_usable(part, &memory[40]);
    EXPECT_EQ(acp_unregister_memory(part), 0) << acp_error_message();
    expect_usable(again, &memory[40]);
    EXPECT_EQ(acp_unregister_memory(again), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
