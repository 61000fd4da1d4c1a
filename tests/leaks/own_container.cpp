// SPDX-License-Identifier: BSD-3-Clause
// The library's calls for each kind of container.
#include "leaks/own_container.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace acp::test {
namespace {

int destroy_any(const Own& own) {
    switch (own.kind) {
        case Kind::map:
            return acp_destroy_map(own.map);
        case Kind::multimap:
            return acp_destroy_multimap(own.multimap);
        case Kind::set:
            return acp_destroy_set(own.set);
        case Kind::multiset:
            return acp_destroy_multiset(own.multiset);
        case Kind::list:
            return acp_destroy_list(own.list);
        case Kind::vector:
            return acp_destroy_vector(own.vector);
        case Kind::deque:
            return acp_destroy_deque(own.deque);
        default:
            return 0;
    }
}

void put(acp_ga_t to, const void* from, std::size_t bytes) {
    must(acp_wait(acp_put(to, from, bytes, ACP_HANDLE_NULL), -1) == ACP_OK, "acp_put");
}

}  // namespace

void OwnContainer::operate() {
    if (own_.kind == Kind::none) return make();
    if (random_.below(3) != 0) return use();
    destroy(own_);
    own_.kind = Kind::none;
    tell_kind();
}

// A published container may not exist any longer, if its maker was killed right after destroying
// it; a container of another kind may have its address.
void OwnContainer::destroy(const Own& own) {
    const int done = destroy_any(own);
    must(done == 0 || acp_errno() == ACP_ERR_STALE || acp_errno() == ACP_ERR_ARGUMENT,
         "destroying a container");
}

// Publishes the kind last, when the other words are there.
void OwnContainer::make() {
    own_ = Own{};
    const Kind kind = static_cast<Kind>(1 + random_.below(7));
    const std::array<int, 2> ranks{0, acp_procs() - 1};
    const int home = ranks[random_.below(2)];
    home_ = home;
    const std::uint64_t bytes = random_.below(200);
    acp_ga_t made = ACP_GA_NULL;
    switch (kind) {
        case Kind::map:
            made = (own_.map = acp_create_map(2, ranks.data(), 1, home)).ga;
            break;
        case Kind::multimap:
            made = (own_.multimap = acp_create_multimap(2, ranks.data(), 1, home)).ga;
            break;
        case Kind::set:
            made = (own_.set = acp_create_set(1, &ranks[random_.below(2)], 1, home)).ga;
            break;
        case Kind::multiset:
            made = (own_.multiset = acp_create_multiset(2, ranks.data(), 1, home)).ga;
            break;
        case Kind::list:
            made = (own_.list = acp_create_list(home)).ga;
            break;
        case Kind::vector:
            made = (own_.vector = acp_create_vector(bytes, home)).ga;
            break;
        default:
            made = (own_.deque = acp_create_deque(bytes, home)).ga;
    }
    must(made != ACP_GA_NULL, "making a container");
    put(place_, &own_, offsetof(Own, kind));
    own_.kind = kind;
    tell_kind();
}

void OwnContainer::tell_kind() const {
    put(place_ + offsetof(Own, kind), &own_.kind, sizeof own_.kind);
}

void OwnContainer::use() {
    const std::string key = "key " + std::to_string(random_.below(30));
    switch (own_.kind) {
        case Kind::map:
            return must(acp_insert_or_assign_map(own_.map, key.data(), key.size(), "value", 5) >= 0,
                        "a call on an own map");
        case Kind::multimap:
            return must(
                acp_insert_multimap(own_.multimap, key.data(), key.size(), "value", 5).elem !=
                    ACP_GA_NULL,
                "a call on an own multimap");
        case Kind::set:
            return must(acp_insert_if_absent_set(own_.set, key.data(), key.size()) >= 0,
                        "a call on an own set");
        case Kind::multiset:
            return must(acp_add_multiset(own_.multiset, key.data(), key.size(), 1) != UINT64_MAX,
                        "a call on an own multiset");
        case Kind::list:
            return must(acp_push_back_list(own_.list, key.data(), key.size(), home_) == 0,
                        "a call on an own list");
        case Kind::vector:
            return must(acp_append_vector(own_.vector, key.data(), key.size()) >= 0,
                        "a call on an own vector");
        default:
            return must(acp_append_deque(own_.deque, key.data(), key.size()) >= 0,
                        "a call on an own deque");
    }
}

}  // namespace acp::test
