// SPDX-License-Identifier: BSD-3-Clause
// Where the secrets of two connected endpoints lie: no secret derived from the job key is in memory
// that a core file would have. The suites note masked beginnings of derived secrets, so that the
// search does not find the notes.
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "crypto/choose.hpp"
#include "datagram/counters.hpp"
#include "datagram/key_schedule.hpp"
#include "os/secret_memory.hpp"

namespace acp::gateway {
namespace {

using namespace datagram;

constexpr std::byte mask{0x5a};
constexpr std::size_t noted_bytes = 16;

using Note = std::array<std::byte, noted_bytes>;

// Passes all calls to the real suite, and notes the beginning of each secret.
class NotingSuite final : public CipherSuite {
public:
    explicit NotingSuite(std::unique_ptr<CipherSuite> suite) : suite_(std::move(suite)) {}

    [[nodiscard]] const char* name() const noexcept override { return suite_->name(); }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return suite_->key_bytes(); }

    [[nodiscard]] std::uint8_t number() const noexcept override { return suite_->number(); }

    [[nodiscard]] std::unique_ptr<Aead> make(Bytes key) noexcept override {
        return suite_->make(key);
    }

    [[nodiscard]] std::unique_ptr<KeyAgreement> make_agreement(Entropy& entropy) override {
        return suite_->make_agreement(entropy);
    }

    [[nodiscard]] MutableBytes take_secret_memory(std::size_t bytes) noexcept override {
        return suite_->take_secret_memory(bytes);
    }

    void give_back_secret_memory(MutableBytes memory) noexcept override {
        suite_->give_back_secret_memory(memory);
    }

    void derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept override {
        suite_->derive(secret, salt, info, out);
        // A cipher's keys have another length than secrets; libcrypto keeps them in its own memory.
        if (out.size() == sizeof(Secret) || keeps_ciphers()) note(out);
    }

    void authenticate(Bytes key, Bytes message, std::span<std::byte, 16> mac) noexcept override {
        suite_->authenticate(key, message, mac);
    }

    [[nodiscard]] bool keeps_ciphers() const {
        return std::string(name()).find("ipsec") != std::string::npos;
    }

    std::vector<Note> notes;

private:
    void note(Bytes secret) {
        Note& one = notes.emplace_back();
        for (std::size_t i = 0; i < noted_bytes; ++i) one[i] = secret[i] ^ mask;
    }

    std::unique_ptr<CipherSuite> suite_;
};

struct Side final : EndpointHandler {
    std::unique_ptr<NotingSuite> suite;
    crypto::SystemEntropy entropy;
    std::unique_ptr<Endpoint> endpoint;
    std::uint32_t arrived = 0;

    void on_frames(NodeId /*from*/, Bytes /*frames*/) override { ++arrived; }

    void on_room(NodeId /*node*/) override {}

    void on_severed(NodeId /*node*/, SeverReason /*reason*/) override { ADD_FAILURE(); }
};

class Book final : public AddressBook {
public:
    [[nodiscard]] std::span<const Address> addresses_of(NodeId node) const noexcept override {
        return {&addresses_[node], 1};
    }

private:
    std::array<Address, 2> addresses_{ipv4(10, 0, 0, 1, 1), ipv4(10, 0, 0, 2, 1)};
};

struct Region {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
};

// The memory regions that a core file of this process would have.
std::vector<Region> dumped_regions() {
    std::ifstream smaps("/proc/self/smaps");
    std::vector<Region> regions;
    Region region;
    bool is_readable = false;
    for (std::string line; std::getline(smaps, line);) {
        char flags[5] = {};
        unsigned long start = 0;
        unsigned long end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &start, &end, flags) == 3) {
            region = {start, end};
            is_readable = flags[0] == 'r' && flags[1] == 'w';
        } else if (line.rfind("VmFlags:", 0) == 0 && is_readable &&
                   line.find(" dd") == std::string::npos) {
            regions.push_back(region);
        }
    }
    return regions;
}

// Counts the noted secrets in that memory.
std::size_t found_in_dump(const std::vector<Note>& notes, std::size_t& searched) {
    std::size_t found = 0;
    std::ifstream memory("/proc/self/mem", std::ios::binary);
    std::vector<char> content;
    for (const Region& region : dumped_regions()) {
        content.assign(region.end - region.start, 0);
        memory.clear();
        memory.seekg(static_cast<std::streamoff>(region.start));
        memory.read(content.data(), static_cast<std::streamsize>(content.size()));
        const auto got = static_cast<std::size_t>(memory.gcount());
        searched += got;
        for (const Note& note : notes) {
            const auto first = static_cast<char>(note[0] ^ mask);
            for (const char* at = content.data();
                 (at = static_cast<const char*>(std::memchr(
                      at, first, got - static_cast<std::size_t>(at - content.data())))) != nullptr;
                 ++at) {
                const std::size_t left = got - static_cast<std::size_t>(at - content.data());
                if (left < noted_bytes) break;
                std::size_t same = 1;
                while (same < noted_bytes &&
                       static_cast<std::byte>(at[same]) == (note[same] ^ mask)) {
                    ++same;
                }
                found += same == noted_bytes ? 1 : 0;
            }
        }
    }
    return found;
}

class SecretsTest : public testing::TestWithParam<crypto::BackendWish> {};

TEST_P(SecretsTest, lie_in_no_memory_that_a_core_file_would_hold) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the tool's own memory is larger than the machine's: it cannot be searched";
#endif
    std::array<Side, 2> sides;
    const Book book;
    Settings settings;
    settings.job_id = 9;
    settings.nodes = 2;
    settings.idle_fold_ns = 1'000'000'000;
    settings.send_buffers = 16;
    for (NodeId node = 0; node < 2; ++node) {
        auto suite = crypto::choose(crypto::CipherWish::aes_128_gcm, GetParam());
        if (!suite.is_ok()) GTEST_SKIP() << suite.failure().message();
        sides[node].suite = std::make_unique<NotingSuite>(std::move(suite).value());
        settings.node = node;
        auto made =
            Endpoint::create(settings, *sides[node].suite, sides[node].entropy, book, sides[node]);
        ASSERT_TRUE(made.is_ok()) << made.failure().message();
        sides[node].endpoint = std::move(made).value();
    }
    std::byte* frame = sides[0].endpoint->reserve(1, 50);
    ASSERT_NE(frame, nullptr);
    std::fill_n(frame, 50, std::byte{7});
    sides[0].endpoint->commit(1, 50);
    std::vector<std::byte> buffer(65'536);
    Time now = 1'000'000'000;
    const auto talk = [&](Time until) {
        for (; now < until; now += 1'000'000) {
            for (NodeId node = 0; node < 2; ++node) {
                Endpoint& endpoint = *sides[node].endpoint;
                if (endpoint.deadline() <= now) endpoint.on_timer(now);
                while (true) {
                    const Transmit out = endpoint.next_transmit(now, buffer);
                    if (out.bytes == 0) break;
                    sides[1 - node].endpoint->on_datagram(now, book.addresses_of(node).front(),
                                                          MutableBytes(buffer).first(out.bytes));
                }
            }
        }
    };
    talk(1'100'000'000);
    ASSERT_EQ(sides[1].arrived, 1U);
    std::size_t searched = 0;
    for (const Side& side : sides) {
        EXPECT_GE(side.suite->notes.size(), 3U) << "handshake, traffic, connection";
        EXPECT_EQ(found_in_dump(side.suite->notes, searched), 0U) << "while they talk";
    }
    talk(5'000'000'000);
    PeerStats stats;
    ASSERT_TRUE(sides[0].endpoint->stats(1, stats) && stats.is_folded);
    for (const Side& side : sides) {
        EXPECT_EQ(found_in_dump(side.suite->notes, searched), 0U) << "while they are idle";
    }
    EXPECT_GT(searched, 100'000U);
    // Checks that the search finds a secret in such memory.
    Note open_note = sides[0].suite->notes.front();
    const std::vector<Note> one{open_note};
    for (std::byte& byte : open_note) byte ^= mask;
    EXPECT_GE(found_in_dump(one, searched), 1U);
    os::wipe(open_note);
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         SecretsTest,
                         testing::Values(crypto::BackendWish::libcrypto,
                                         crypto::BackendWish::ipsec_mb),
                         [](const auto& kind) {
                             return kind.param == crypto::BackendWish::libcrypto ? "libcrypto"
                                                                                 : "ipsec_mb";
                         });

}  // namespace
}  // namespace acp::gateway
