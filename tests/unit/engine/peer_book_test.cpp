// SPDX-License-Identifier: BSD-3-Clause
// The addresses of all nodes: each row is found again, a table that fits no job is refused with
// what is wrong in it, and leaves the book as it was.
#include "engine/peer_book.hpp"

#include <gtest/gtest.h>

namespace acp::engine {
namespace {

using datagram::Address;

using Rows = std::vector<std::vector<Address>>;

Address host(std::uint8_t last) {
    return datagram::ipv4(10, 0, 0, last, 7000);
}

TEST(PeerBook, gives_each_node_the_addresses_of_its_row) {
    PeerBook book;
    EXPECT_TRUE(book.addresses_of(0).empty());
    const Rows rows{{host(1)}, {host(2), host(3), host(4)}, {host(5)}};
    ASSERT_TRUE(book.fill(rows, 3).is_ok());
    for (std::uint32_t node = 0; node < rows.size(); ++node) {
        const auto found = book.addresses_of(node);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), rows[node].begin(), rows[node].end()));
    }
    EXPECT_TRUE(book.addresses_of(3).empty());
    EXPECT_TRUE(book.addresses_of(~0U).empty());
}

TEST(PeerBook, refuses_what_fits_no_job_and_stays_as_it_was) {
    struct Row {
        Rows rows;
        const char* words;
    };

    const Rows good{{host(1)}, {host(2)}};
    const std::vector<Row> wrong{
        {{{host(1)}}, "addresses of 1 nodes were given in a job of 2"},
        {{{host(1)}, {host(2)}, {host(3)}}, "addresses of 3 nodes were given in a job of 2"},
        {{{host(1)}, {}}, "node 1 has 0 addresses; 1 to 8 are possible"},
        {{std::vector<Address>(9, host(1)), {host(2)}}, "node 0 has 9 addresses; 1 to 8"},
    };
    PeerBook book;
    ASSERT_TRUE(book.fill(good, 2).is_ok());
    for (const Row& row : wrong) {
        const base::Status status = book.fill(row.rows, 2);
        EXPECT_EQ(status.code(), base::Code::argument);
        EXPECT_NE(status.message().find(row.words), std::string_view::npos) << status.message();
        ASSERT_EQ(book.addresses_of(1).size(), 1U);
        EXPECT_EQ(book.addresses_of(1)[0], host(2));
    }
    EXPECT_TRUE(book.fill({std::vector<Address>(8, host(1)), {host(2)}}, 2).is_ok());
    EXPECT_EQ(book.addresses_of(0).size(), 8U);
}

}  // namespace
}  // namespace acp::engine
