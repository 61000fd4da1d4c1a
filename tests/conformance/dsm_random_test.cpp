// SPDX-License-Identifier: BSD-3-Clause
// Random programs without data races on shared pages of several nodes (support/race_free_program.hpp):
// two threads of each rank access bytes by plain pointers, by acp_put and acp_get of pointers into the
// pages, and by acp_get and acp_copy from global addresses of the pages, with prefetches, flushes and fences in between;
// areas of the window are freed and allocated again. Each read sees the bytes of the model; so does
// the whole window at the end. With TEST_PAGES=N the window has N / 2 to N pages, which ACP_DSM_CACHE lets a
// node keep in part alone. support/random_programs.hpp names the seeds.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "support/race_free_program.hpp"
#include "support/random_programs.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pages_max = 40;
constexpr std::size_t piece_bytes_max = 8;

// Successive bytes that one actor reads, or writes, one after the other.
using Piece = std::span<const Access>;

// The piece at the beginning of some accesses; all of it lies in one page.
Piece piece_of(std::span<const Access> accesses) {
    std::size_t count = 1;
    while (count < std::min(accesses.size(), piece_bytes_max) &&
           accesses[count].is_write == accesses[0].is_write &&
           accesses[count].place == accesses[0].place + count &&
           accesses[count].place % page != 0) {
        ++count;
    }
    return accesses.first(count);
}

class DsmRandomTest : public RandomProgramTest {
protected:
    const std::uint64_t pages_most_ = from_environment("TEST_PAGES", pages_max);
    const std::uint64_t pages_least_ = std::getenv("TEST_PAGES") == nullptr ? 1 : pages_most_ / 2;

    void run_program(std::uint64_t seed) {
        Random random(seed + 7);
        shape_ = {random.between(pages_least_, pages_most_), random.between(2, 8), actors(),
                  random.between(1, 6)};
        const RaceFreeProgram program(seed, shape_);
        areas_.assign(program.areas().size(), nullptr);
        bytes_of_page_.assign(shape_.pages, nullptr);
        for (std::size_t area = 0; area < areas_.size(); ++area) allocate(program, area);
        ASSERT_FALSE(HasFailure());
        run_epochs(
            shape_.epochs, [&](std::uint64_t epoch) { renew(program, epoch); },
            [&](std::uint64_t epoch, std::uint32_t actor) {
                Random choice(seed * shape_.actors + actor + epoch * 0x9e3779b97f4a7c15U);
                std::span<const Access> rest = program.of(epoch, actor);
                while (!rest.empty() && !HasFailure()) {
                    const Piece piece = piece_of(rest);
                    perform(program, piece, actor, choice);
                    rest = rest.subspan(piece.size());
                }
            });
        EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        expect_last(program, random);
        for (std::byte* const area : areas_)
            ASSERT_EQ(acp_free_dsm(area), 0) << acp_error_message();
    }

private:
    void allocate(const RaceFreeProgram& program, std::size_t area) {
        const auto [first, pages] = program.areas()[area];
        areas_[area] = static_cast<std::byte*>(acp_alloc_dsm(pages * page));
        ASSERT_NE(areas_[area], nullptr) << acp_error_message();
        for (std::uint64_t i = 0; i < pages; ++i)
            bytes_of_page_[first + i] = areas_[area] + i * page;
    }

    // Ends an epoch by a barrier, which may be that of acp_free_dsm, and begins another one.
    void renew(const RaceFreeProgram& program, std::uint64_t epoch) {
        const std::vector<std::size_t>& renewed = program.renewed(epoch);
        if (renewed.size() % 2 == 0) {
            EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        }
        for (const std::size_t area : renewed) {
            EXPECT_EQ(acp_free_dsm(areas_[area]), 0) << acp_error_message();
        }
        for (const std::size_t area : renewed) allocate(program, area);
    }

    [[nodiscard]] std::byte* at(std::uint64_t place) const {
        return bytes_of_page_[place / page] + place % page;
    }

    void perform(const RaceFreeProgram& program,
                 Piece piece,
                 std::uint32_t actor,
                 Random& random) const {
        if (random.chance(4)) prefetch(program, random);
        if (random.chance(2)) exchange_part(program, random);
        // Bytes of this rank, or of the next one, that this actor alone uses.
        const int owner = random.chance(50) ? rank_ : (rank_ + 1) % procs_;
        const acp_ga_t scratch = acp_query_starter_ga(owner) + actor * piece_bytes_max;
        if (piece[0].is_write) {
            write(piece, scratch, random);
        } else {
            read(piece, scratch, random);
        }
    }

    void write(Piece piece, acp_ga_t scratch, Random& random) const {
        std::byte* const target = at(piece[0].place);
        std::array<std::byte, piece_bytes_max> values{};
        for (std::size_t i = 0; i < piece.size(); ++i) values[i] = piece[i].value;
        if (random.chance(5)) {
            acp_complete(acp_put(scratch, values.data(), piece.size(), ACP_HANDLE_NULL));
            acp_complete(acp_get(target, scratch, piece.size(), ACP_HANDLE_NULL));
        } else if (random.chance(30)) {
            std::memcpy(target, values.data(), piece.size());
        } else {
            for (std::size_t i = 0; i < piece.size(); ++i) target[i] = values[i];
        }
    }

    void read(Piece piece, acp_ga_t scratch, Random& random) const {
        const std::byte* const source = at(piece[0].place);
        std::array<std::byte, piece_bytes_max> values{};
        const std::size_t size = piece.size();
        const auto take = [&](acp_handle_t copy, acp_ga_t from) {
            acp_complete(copy);
            acp_complete(acp_get(values.data(), from, size, ACP_HANDLE_NULL));
        };
        switch (random.below(40)) {
            case 0:
                take(acp_put(scratch, source, size, ACP_HANDLE_NULL), scratch);
                break;
            case 1:
                take(acp_put_copied(scratch, source, size, ACP_HANDLE_NULL), scratch);
                break;
            case 2:
                take(ACP_HANDLE_NULL, acp_query_ga_dsm(source));
                break;
            case 3:
                take(acp_copy(scratch, acp_query_ga_dsm(source), size, ACP_HANDLE_NULL), scratch);
                break;
            default:
                std::memcpy(values.data(), source, size);
        }
        for (std::size_t i = 0; i < size; ++i)
            if (values[i] != piece[i].value) fail("in a read", piece[i].place);
    }

    // Any bytes of an area.
    static void prefetch_part(const std::byte* begin, std::uint64_t bytes, Random& random) {
        const std::uint64_t first = random.below(bytes);
        EXPECT_EQ(acp_prefetch_dsm(begin + first, random.between(1, bytes - first)), 0)
            << acp_error_message();
    }

    void prefetch(const RaceFreeProgram& program, Random& random) const {
        const std::size_t area = random.below(areas_.size());
        prefetch_part(areas_[area], program.areas()[area].pages * page, random);
    }

    // Sends, or exchanges, any bytes of an area, also those that others write at the same time.
    void exchange_part(const RaceFreeProgram& program, Random& random) const {
        const std::size_t area = random.below(areas_.size());
        const std::uint64_t bytes = program.areas()[area].pages * page;
        const std::uint64_t first = random.below(bytes);
        const auto call = random.chance(50) ? acp_fence_dsm : acp_flush_dsm;
        EXPECT_EQ(call(areas_[area] + first, random.between(1, bytes - first)), 0)
            << acp_error_message();
    }

    void expect_last(const RaceFreeProgram& program, Random& random) const {
        for (std::size_t area = 0; area < areas_.size(); ++area) {
            if (random.chance(20)) prefetch(program, random);
            const auto [first, pages] = program.areas()[area];
            const std::byte* const expected = program.last().data() + first * page;
            for (std::uint64_t place = 0; place < pages * page; ++place)
                if (areas_[area][place] != expected[place])
                    fail("at the end", first * page + place);
        }
    }

    void fail(const char* where, std::uint64_t place) const {
        if (HasFailure()) return;
        ADD_FAILURE() << "wrong byte " << where << ": rank " << rank_ << ", page " << place / page
                      << " of the program, byte " << place % page;
    }

    ProgramShape shape_;
    std::vector<std::byte*> areas_;
    std::vector<std::byte*> bytes_of_page_;
};

TEST_F(DsmRandomTest, each_read_of_a_program_without_data_races_sees_the_bytes_of_the_model) {
    // Room for areas of any length among others.
    run_programs(100, 4 * pages_most_ * page, [&](std::uint64_t seed) { run_program(seed); });
}

}  // namespace
}  // namespace acp::test
