// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a delegated system call, joined by a record: the executor gets the input of a call, the
// program its output, and memory that the program cannot access lies in the wall.
#include "call/system_call_pack.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <sys/uio.h>
#include <vector>

#include "call/system_call_work.hpp"
#include "support/random.hpp"

namespace acp::call {
namespace {

// Copies as the kernel does: a text is read to the end of its line, also where an object ends
// before, which AddressSanitizer refuses.
__attribute__((no_sanitize("address"))) void copy_plainly(void* to,
                                                          std::uint64_t from,
                                                          std::uint64_t bytes) {
    const auto* const source = reinterpret_cast<const volatile char*>(from);
    auto* const target = static_cast<volatile char*>(to);
    for (std::uint64_t i = 0; i < bytes; ++i) target[i] = source[i];
}

// Memory of a program: real addresses, of which those from `forbidden` on cannot be accessed.
struct PartlyForbidden {
    std::uint64_t forbidden = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] std::uint64_t accessible(std::uint64_t address, std::uint64_t bytes) const {
        if (address < 4096 || address >= forbidden) return 0;
        return std::min(bytes, forbidden - address);
    }

    std::uint64_t copy_in(void* to, std::uint64_t from, std::uint64_t bytes) {
        const std::uint64_t got = accessible(from, bytes);
        copy_plainly(to, from, got);
        return got;
    }

    std::uint64_t copy_out(std::uint64_t to, const void* from, std::uint64_t bytes) {
        const std::uint64_t got = accessible(to, bytes);
        if (got != 0) std::memcpy(reinterpret_cast<void*>(to), from, got);
        return got;
    }

    std::uint64_t writable(std::uint64_t address, std::uint64_t bytes) {
        return accessible(address, bytes);
    }
};

template <typename T>
std::uint64_t word_of(T* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

class SystemCallPackTest : public ::testing::Test {
protected:
    // Stages a call and takes it at the other end.
    void pass(SystemCall call, const SystemCallWords& words) {
        ASSERT_EQ(pack.stage(call, words), Delegation::carried);
        ASSERT_TRUE(work.take(pack.record()));
    }

    [[nodiscard]] std::byte* at(std::size_t word) const {
        return reinterpret_cast<std::byte*>(work.words()[word]);
    }

    [[nodiscard]] std::byte* wall() { return memory.data() + system_call_staging_bytes; }

    // Staging memory and wall, all of which the test may access.
    std::vector<std::byte> memory =
        std::vector<std::byte>(system_call_staging_bytes + system_call_wall_bytes);
    PartlyForbidden program;
    SystemCallPack<PartlyForbidden> pack{std::span(memory).first(system_call_staging_bytes),
                                         program};
    SystemCallWork work{memory.data()};
};

TEST_F(SystemCallPackTest, passes_what_a_call_reads) {
    const std::string text = "eight by";
    pass(SystemCall::write, {7, word_of(text.data()), text.size()});
    EXPECT_EQ(work.number(), number_of(SystemCall::write));
    EXPECT_EQ(work.words()[0], 7U);
    EXPECT_EQ(work.words()[2], text.size());
    EXPECT_EQ(std::memcmp(at(1), text.data(), text.size()), 0);
    EXPECT_GE(at(1), memory.data());
    EXPECT_LT(at(1), wall());
}

TEST_F(SystemCallPackTest, brings_back_as_much_as_a_call_says_that_it_has_written) {
    std::string room(100, '-');
    pass(SystemCall::read, {7, word_of(room.data()), room.size()});
    std::memset(at(1), 'x', room.size());
    work.finish();
    EXPECT_TRUE(pack.fetch(60));
    EXPECT_EQ(room, std::string(60, 'x') + std::string(40, '-'));
    EXPECT_TRUE(pack.fetch(-5));
    EXPECT_EQ(room[60], '-');
    EXPECT_TRUE(pack.fetch(std::numeric_limits<std::int64_t>::max()));
    EXPECT_EQ(room, std::string(100, 'x'));
}

TEST_F(SystemCallPackTest, shortens_what_is_longer_than_a_piece) {
    std::vector<char> bytes(system_call_piece_bytes + 1, 'a');
    pass(SystemCall::write, {1, word_of(bytes.data()), bytes.size()});
    EXPECT_EQ(work.words()[2], system_call_piece_bytes + 1 - 4096) << "the rest is whole pages";
    pass(SystemCall::write, {1, word_of(bytes.data()), system_call_piece_bytes});
    EXPECT_EQ(work.words()[2], system_call_piece_bytes);
}

TEST_F(SystemCallPackTest, puts_the_accessible_start_of_bytes_before_the_wall) {
    std::string text = "0123456789";
    program.forbidden = word_of(text.data()) + 6;
    pass(SystemCall::write, {1, word_of(text.data()), text.size()});
    EXPECT_EQ(work.words()[2], text.size());
    EXPECT_EQ(at(1), wall() - 6);
    EXPECT_EQ(std::memcmp(at(1), text.data(), 6), 0);
    pass(SystemCall::read, {1, word_of(text.data()), text.size()});
    EXPECT_EQ(at(1), wall() - 6);
    std::memcpy(at(1), "abcdef", 6);
    EXPECT_TRUE(pack.fetch(6));
    EXPECT_EQ(text, "abcdef6789");
    program.forbidden = 0;
    pass(SystemCall::read, {1, word_of(text.data()), text.size()});
    EXPECT_EQ(at(1), wall());
}

TEST_F(SystemCallPackTest, passes_the_whole_count_where_no_byte_can_be_accessed) {
    program.forbidden = 0;
    for (const std::uint64_t bytes : {system_call_piece_bytes + 1, transfer_bytes_max + 9}) {
        pass(SystemCall::write, {1, 4096, bytes});
        EXPECT_EQ(work.words()[2], bytes);
        EXPECT_EQ(at(1), wall());
    }
}

TEST_F(SystemCallPackTest, fails_after_a_call_that_could_not_write_back_what_it_has_read) {
    std::uint64_t offset = 5;
    pass(SystemCall::sendfile, {1, 2, word_of(&offset), 10});
    EXPECT_TRUE(pack.fetch(3));
    program.forbidden = word_of(&offset) + 4;
    EXPECT_FALSE(pack.fetch(3));
    EXPECT_TRUE(pack.fetch(-5));
}

TEST_F(SystemCallPackTest, passes_texts_with_their_end_and_none_without) {
    const std::string path = "/a/path/" + std::string(200, 'p');
    pass(SystemCall::rename, {word_of(path.data()), word_of("b")});
    EXPECT_STREQ(reinterpret_cast<const char*>(at(0)), path.c_str());
    EXPECT_STREQ(reinterpret_cast<const char*>(at(1)), "b");
    program.forbidden = word_of(path.data()) + 100;
    pass(SystemCall::unlink, {word_of(path.data())});
    EXPECT_EQ(at(0), wall() - 100);
    program.forbidden = std::numeric_limits<std::uint64_t>::max();
    const std::string longest(system_call_text_bytes + 10, 'x');
    pass(SystemCall::unlink, {word_of(longest.data())});
    EXPECT_EQ(std::memcmp(at(0), longest.data(), system_call_text_bytes), 0);
}

TEST_F(SystemCallPackTest, joins_vectors_and_spreads_what_was_read) {
    std::string one = "abc";
    std::string two = "defgh";
    std::array<iovec, 2> vectors{iovec{one.data(), one.size()}, iovec{two.data(), two.size()}};
    pass(SystemCall::writev, {1, word_of(vectors.data()), 2});
    EXPECT_EQ(work.words()[2], 1U);
    auto* joined = reinterpret_cast<iovec*>(work.words()[1]);
    ASSERT_EQ(joined->iov_len, 8U);
    EXPECT_EQ(std::memcmp(joined->iov_base, "abcdefgh", 8), 0);
    pass(SystemCall::readv, {1, word_of(vectors.data()), 2});
    joined = reinterpret_cast<iovec*>(work.words()[1]);
    ASSERT_EQ(joined->iov_len, 8U);
    std::memcpy(joined->iov_base, "ABCDEFGH", 8);
    EXPECT_TRUE(pack.fetch(5));
    EXPECT_EQ(one + two, "ABCDEfgh");
}

TEST_F(SystemCallPackTest, passes_lists_of_vectors_so_that_the_kernel_refuses_what_it_would) {
    std::string text = "abc";
    std::array<iovec, 2> vectors{iovec{text.data(), 1}, iovec{text.data(), SIZE_MAX}};
    pass(SystemCall::writev, {1, word_of(vectors.data()), 2});
    EXPECT_EQ(work.words()[1], 0U);
    EXPECT_GT(work.words()[2], io_vectors_max);
    pass(SystemCall::writev, {1, word_of(vectors.data()), io_vectors_max + 1});
    EXPECT_GT(work.words()[2], io_vectors_max);
    pass(SystemCall::writev, {1, 16, 1});
    EXPECT_EQ(at(1), wall());
}

TEST_F(SystemCallPackTest, passes_lengths_in_memory_of_the_executor) {
    std::array<char, 32> address{};
    std::int32_t length = 16;
    pass(SystemCall::getsockname, {3, word_of(address.data()), word_of(&length)});
    auto* const seen = reinterpret_cast<std::int32_t*>(at(2));
    EXPECT_EQ(*seen, 16);
    EXPECT_FALSE(at(2) >= memory.data() && at(2) < memory.data() + memory.size());
    std::memset(at(1), 'q', 16);
    *seen = 110;  // longer than the room
    work.finish();
    EXPECT_TRUE(pack.fetch(0));
    EXPECT_EQ(length, 110);
    EXPECT_EQ(address[15], 'q');
    EXPECT_EQ(address[16], 0);
}

TEST_F(SystemCallPackTest, leaves_calls_in_the_device_process_by_the_table_and_by_their_words) {
    EXPECT_EQ(pack.stage(SystemCall::mmap, {}), Delegation::staying);
    EXPECT_EQ(pack.stage(SystemCall::io_uring_setup, {}), Delegation::refused);
    std::array<std::uint64_t, 2> mask{};
    EXPECT_EQ(pack.stage(SystemCall::ppoll, {0, 0, 0, word_of(mask.data()), 8}),
              Delegation::staying);
    EXPECT_EQ(pack.stage(SystemCall::ppoll, {0, 0, 0, 0, 8}), Delegation::carried);
}

// A record of which a device process has written each byte.
class AnyRecord {
public:
    explicit AnyRecord(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] SystemCallRecord next() {
        SystemCallRecord record;
        record.call = static_cast<SystemCall>(random_.next() % (system_call_count + 2));
        for (auto& word : record.words) word = any();
        for (auto& place : record.places) place = random_.next() % 2 == 0 ? 0 : any();
        return record;
    }

private:
    [[nodiscard]] std::uint64_t any() {
        switch (random_.next() % 6) {
            case 0:
                return random_.next();
            case 1:
                return random_.next() % 64;
            case 2:
                return system_call_staging_bytes + random_.next() % 16 - 8;
            case 3:
                return system_call_piece_bytes - random_.next() % 16;
            case 4:
                return ~std::uint64_t{0} - random_.next() % 4;
            default:
                return random_.next() % (2 * system_call_staging_bytes);
        }
    }

    test::Random random_;
};

// Whether the kernel, given the address, stays where it may.
[[nodiscard]] bool is_harmless(std::uint64_t address, std::uint64_t bytes, const void* staging) {
    const std::uint64_t start = word_of(staging);
    const std::uint64_t wall = start + system_call_staging_bytes;
    const std::uint64_t end = wall + system_call_wall_bytes;
    if (address == 0 || address == wall || address == std::uint64_t{1} << 63U) return true;
    return address >= start && address < wall && bytes <= end - address;
}

TEST_F(SystemCallPackTest, never_lets_a_record_lead_the_executor_out_of_the_staging_memory) {
    const char* const given = std::getenv("ACP_TEST_SEED");
    const std::uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 10) : test::fresh_seed();
    SCOPED_TRACE("repeat with ACP_TEST_SEED=" + std::to_string(seed));
    AnyRecord records(seed);
    test::Random bytes(seed + 1);
    int taken = 0;
    for (int i = 0; i < 300'000; ++i) {
        const SystemCallRecord record = records.next();
        for (std::size_t k = 0; k < 64; k += 8) {
            const std::uint64_t word = bytes.next();
            std::memcpy(memory.data() + k, &word, sizeof word);
        }
        if (!work.take(record)) continue;
        ++taken;
        ASSERT_EQ(row_of(record.call).delegation, Delegation::carried);
        for (std::size_t k = 0; k < system_call_words; ++k) {
            ArgumentRow argument;
            ASSERT_TRUE(find_argument(record.call, record.words, k, argument));
            const std::uint64_t word = work.words()[k];
            const bool is_private = word >= word_of(&work) && word < word_of(&work + 1);
            std::uint64_t needed = extent_of(argument, record.words);
            if (argument.passing == Passing::text) needed = system_call_text_bytes;
            if (argument.passing == Passing::up_to) needed = system_call_piece_bytes;
            if (argument.passing == Passing::value || argument.passing == Passing::absent) continue;
            if (argument.passing == Passing::length && is_private) continue;
            if (is_private) {
                const auto* vector = reinterpret_cast<const iovec*>(word);
                ASSERT_TRUE(is_harmless(word_of(vector->iov_base), vector->iov_len, memory.data()))
                    << row_of(record.call).name.text();
                ASSERT_EQ(work.words()[argument.word], 1U);
                continue;
            }
            ASSERT_TRUE(is_harmless(
                word,
                argument.passing == Passing::vectors_in || argument.passing == Passing::vectors_out
                    ? 0
                    : needed,
                memory.data()))
                << row_of(record.call).name.text() << ", word " << k;
        }
        work.finish();
    }
    EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace acp::call
