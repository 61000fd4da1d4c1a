// SPDX-License-Identifier: BSD-3-Clause
// The common part of the tests of TableViews: two heaps that are mapped here, containers on them,
// and the result of a find. This process makes all accesses.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/hashed.hpp"
#include "data/table_view.hpp"
#include "node/member.hpp"

#include "allocator/directory_operations.hpp"
#include "allocator/entry_operations.hpp"
#include "allocator/heap_operations.hpp"
#include "allocator/list_operations.hpp"
#include "allocator/table_operations.hpp"
#include "claims/library_claims.hpp"

namespace acp::data::test {

using Found = TableViews::Found;

inline Bytes bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

inline const local::OperationTable& operations() {
    static const local::OperationTable table = [] {
        local::OperationTable all;
        all.add(allocator::heap_operations);
        all.add(allocator::table_operations);
        all.add(allocator::directory_operations);
        all.add(allocator::entry_operations);
        all.add(allocator::list_operations);
        return all;
    }();
    return table;
}

class TableViewTest : public testing::Test {
protected:
    static constexpr std::uint64_t epoch = 5;

    explicit TableViewTest(std::uint32_t procs = 2, std::uint64_t heap_bytes = 16 << 20) {
        base::Config config;
        config.starter_bytes = 1 << 16;
        config.heap_bytes = heap_bytes;
        auto made = node::Segment::create(node::shape_for(config, procs), claims::library_claims());
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        node_ = std::move(made).value();
        member_ = std::make_unique<node::Member>(node_.share(), 0);
        EXPECT_TRUE(member_->take_slot().is_ok());
        hazards_ = std::make_unique<local::Hazards>(member_->segment(), 0);
        auto opened =
            gma::Gma::open(*member_, *hazards_, fast_, config, {nullptr, nullptr, &operations()});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma_ = std::move(opened).value();
        allocator_ = std::make_unique<Allocator>(*gma_);
        hashed_ = std::make_unique<Hashed>(*gma_, *allocator_);
    }

    void SetUp() override {
        if (!hazards_->has_membarrier())
            GTEST_SKIP() << "no views are kept where finds need fences";
    }

    [[nodiscard]] ContainerName make(std::vector<std::uint32_t> processes = {0},
                                     std::uint64_t slots = 2) {
        HashedOptions options;
        options.processes = std::move(processes);
        options.slots = slots;
        options.hash = hash::HashFunction::xxh3;
        options.seed = 7;
        auto made = hashed_->create(options);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.value();
    }

    // A map at another address whose view takes the same place as that of `name`.
    [[nodiscard]] ContainerName make_rival_of(const ContainerName& name) {
        ContainerName made = make();
        while (made.id % TableViews::containers_max != name.id % TableViews::containers_max)
            made = make();
        EXPECT_NE(made.directory, name.directory);
        return made;
    }

    void put(const ContainerName& name, const std::string& key, const std::string& value) {
        Put put;
        put.key = bytes_of(key);
        put.value = bytes_of(value);
        auto done = hashed_->put(name, put, nullptr);
        ASSERT_TRUE(done.is_ok()) << done.failure().message();
    }

    void destroy(const ContainerName& name) {
        const base::Status status = hashed_->destroy(name);
        ASSERT_TRUE(status.is_ok()) << status.message();
    }

    // Makes the calling thread keep a view of a key's table.
    void learn(TableViews& views,
               const ContainerName& name,
               std::uint64_t of = epoch,
               const std::string& key = "key") {
        TablePlace place;
        if (hashed_->directories().find(name, bytes_of(key), place))
            views.learn(of, name, place, thread());
    }

    [[nodiscard]] std::uint32_t thread() { return hazards_->index_of(*hazards_->own_line()); }

    // Views with a single one, of this map.
    [[nodiscard]] std::unique_ptr<TableViews> views_of(const ContainerName& name) {
        auto views = std::make_unique<TableViews>();
        learn(*views, name);
        return views;
    }

    // The result of a find, with the value of the entry if there is one.
    struct Seen {
        Found found = Found::unknown;
        std::string value;

        friend bool operator==(const Seen&, const Seen&) = default;
    };

    static Seen find(TableViews& views,
                     const ContainerName& name,
                     const std::string& key = "key",
                     std::uint64_t of = epoch) {
        Seen seen;
        std::uint64_t tables = 0;
        seen.found = views.find(of, name, bytes_of(key), tables,
                                [&](const TableView&, std::uint64_t, auto& record, auto) {
                                    seen.value.resize(record.value_bytes);
                                    record.copy_value(seen.value.data(), seen.value.size());
                                });
        return seen;
    }

    static bool knows(TableViews& views, const ContainerName& name, std::uint64_t of = epoch) {
        TablePlace place;
        return views.place(of, name, bytes_of("key"), place);
    }

    static void expect_unknown(TableViews& views,
                               const ContainerName& name,
                               std::uint64_t of = epoch) {
        EXPECT_EQ(find(views, name, "key", of).found, Found::unknown);
        EXPECT_FALSE(knows(views, name, of));
    }

    static Seen there(const std::string& value) { return {Found::there, value}; }

    node::Segment node_;
    std::unique_ptr<node::Member> member_;
    std::unique_ptr<local::Hazards> hazards_;
    gma::FastPath fast_;
    std::unique_ptr<gma::Gma> gma_;
    std::unique_ptr<Allocator> allocator_;
    std::unique_ptr<Hashed> hashed_;
};

}  // namespace acp::data::test
