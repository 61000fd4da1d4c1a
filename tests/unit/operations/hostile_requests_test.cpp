// SPDX-License-Identifier: BSD-3-Clause
// Requests that a faulty process of another node could send: random changes of valid requests of
// every row of the table, on a heap with live containers. Each request ends, none ends the gateway,
// and none changes memory that it does not name: neither another process's heap, nor the heap's own
// structures, nor the count of a container. ACP_TEST_SEED repeats a run.
#include <cstdlib>
#include <set>

#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"
#include "unit/operations/hostile_scene.hpp"

namespace acp::operations::test {
namespace {

std::uint64_t seed_of_run() {
    const char* const given = std::getenv("ACP_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 0) : acp::test::fresh_seed();
}

// Operations whose addresses may name any memory of the process, like those of a copy.
bool is_put(std::uint32_t number) {
    return number == put_signal_add_number || number == put_signal_set_number ||
           number == take_lease_number || number == leased_put_number ||
           number == local::operation_number<GrantLock>;
}

class Mutation {
public:
    Mutation(acp::test::Random& random, const std::vector<std::uint64_t>& words)
        : random_(random), words_(words) {}

    void change(Request& request) {
        Bytes& bytes = request.bytes;
        const std::uint32_t most = library_operations().find(request.number)->argument_bytes_max;
        for (std::uint64_t i = random_.between(1, 4); i > 0; --i) {
            if (random_.chance(8)) bytes.resize(random_.below(std::min(most, 200U) + 1));
            if (random_.chance(3)) fill(bytes);
            if (bytes.size() >= 8) change_word(bytes, is_put(request.number));
        }
        if (bytes.size() > most) bytes.resize(most);
    }

private:
    void fill(Bytes& bytes) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.next());
    }

    // Changes a random word, or half of it.
    void change_word(Bytes& bytes, bool has_any_address) {
        const std::size_t at = random_.below(bytes.size() / 8) * 8;
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        switch (random_.below(5)) {
            case 0:
                word ^= std::uint64_t{1} << random_.below(has_any_address ? 12 : 64);
                break;
            case 1:
                word += random_.below(9) * 8 - 32;
                break;
            case 2:
                word = random_.next() >> random_.below(64);
                if (has_any_address) word |= std::uint64_t{1} << 63;
                break;
            case 3:
                word = (word & ~std::uint64_t{0xffffffff}) | random_.below(4);
                break;
            default:
                word = words_[random_.below(has_any_address ? 4 : words_.size())];
                break;
        }
        const bool is_half = random_.chance(20);
        std::memcpy(bytes.data() + at, &word, is_half ? sizeof word / 2 : sizeof word);
    }

    acp::test::Random& random_;
    const std::vector<std::uint64_t>& words_;
};

TEST(HostileRequestsTest, there_is_a_valid_request_of_each_row) {
    HostileScene scene;
    std::set<std::uint32_t> numbers;
    for (const Request& request : scene.valid_requests()) {
        numbers.insert(request.number);
        // An earlier request may have destroyed the object, so stale and address are fine too.
        const Code code = scene.run(request);
        EXPECT_TRUE(code == Code::ok || code == Code::stale || code == Code::address)
            << request.number << ": " << static_cast<int>(code);
    }
    for (std::uint32_t number = 0; number < local::operation_numbers; ++number) {
        EXPECT_EQ(numbers.count(number) != 0, library_operations().find(number) != nullptr)
            << number;
    }
    scene.expect_sound();
    scene.expect_bystander_unharmed();
}

TEST(HostileRequestsTest, a_body_that_a_request_replaces_is_a_block_on_loan) {
    HostileScene scene;
    for (const Request& request : scene.valid_requests()) {
        if (request.number != local::operation_number<allocator::AdoptBody>) continue;
        for (const std::uint64_t other : scene.telling_words()) {
            if (other == scene.content().lent.address) continue;
            allocator::BodyToAdopt body;
            std::memcpy(&body, request.bytes.data(), sizeof body);
            body.stage.address = other;
            EXPECT_NE(scene.run({request.number, bytes_of(body)}), Code::ok) << other;
            scene.expect_sound();
        }
    }
    scene.expect_bystander_unharmed();
}

TEST(HostileRequestsTest, changed_requests_end_and_harm_nothing_that_they_do_not_name) {
    const acp::test::ScopedWatchdog watchdog("a request that does not end");
    const std::uint64_t seed = seed_of_run();
    SCOPED_TRACE("ACP_TEST_SEED=" + std::to_string(seed));
    std::printf("ACP_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    acp::test::Random random(seed);
    for (int round = acp::test::effort(60, 10); round > 0 && !::testing::Test::HasFailure();
         --round) {
        HostileScene scene;
        const std::vector<Request> valid = scene.valid_requests();
        const std::vector<std::uint64_t> words = scene.telling_words();
        Mutation mutation(random, words);
        for (int i = 0; i < 1'000 && !::testing::Test::HasFailure(); ++i) {
            Request request = valid[random.below(valid.size())];
            mutation.change(request);
            SCOPED_TRACE("operation " + std::to_string(request.number) + ", request " +
                         std::to_string(i));
            (void)scene.run(request);
            if (i % 50 == 0) scene.expect_sound();
        }
        scene.expect_sound();
        scene.expect_bystander_unharmed();
    }
}

}  // namespace
}  // namespace acp::operations::test
