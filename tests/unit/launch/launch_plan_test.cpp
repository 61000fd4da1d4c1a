// SPDX-License-Identifier: BSD-3-Clause
// The launch plan that the launcher sends to an agent.
#include "launch/launch_plan.hpp"

#include <gtest/gtest.h>

namespace acp::launch::test {
namespace {

LaunchPlan full_plan() {
    LaunchPlan plan;
    plan.procs = 1024;
    plan.programs = {{1000, "/bin/a program", {"a program", "", "line\nbreak", "a=b=c", "\xff"}},
                     {24, "/bin/another", {"another"}}};
    plan.variables = {"A=b=c", "EMPTY="};
    plan.output_directory = "/out put";
    plan.has_tags = true;
    plan.is_bound_to_cores = true;
    plan.is_continue_on_failure = true;
    plan.node = 1;
    plan.first_process = {0, 500, 501};
    plan.machine_procs = 700;
    plan.job_id = 0xfedcba9876543210ULL;
    plan.heap_bytes = 5ULL << 40U;
    plan.heap_bound = 3;
    plan.cipher = 2;
    plan.addresses = "127.0.1.2";
    plan.networks = "10.0.0.0/8,!eth0";
    plan.directory = "/work place";
    plan.is_netns = true;
    plan.is_quiet = true;
    return plan;
}

TEST(LaunchPlanTest, arrives_as_it_was_sent) {
    const LaunchPlan sent = full_plan();
    const auto arrived = launch_plan_from(to_bytes(sent));
    ASSERT_TRUE(arrived.is_ok()) << arrived.failure().message();
    const LaunchPlan& plan = arrived.value();
    EXPECT_EQ(plan.procs, sent.procs);
    ASSERT_EQ(plan.programs.size(), sent.programs.size());
    for (std::size_t i = 0; i < plan.programs.size(); ++i) {
        EXPECT_EQ(plan.programs[i].procs, sent.programs[i].procs);
        EXPECT_EQ(plan.programs[i].path, sent.programs[i].path);
        EXPECT_EQ(plan.programs[i].arguments, sent.programs[i].arguments);
    }
    EXPECT_EQ(plan.variables, sent.variables);
    EXPECT_EQ(plan.output_directory, sent.output_directory);
    EXPECT_TRUE(plan.has_tags && plan.is_bound_to_cores && plan.is_continue_on_failure);
    EXPECT_EQ(plan.node, sent.node);
    EXPECT_EQ(plan.first_process, sent.first_process);
    EXPECT_EQ(plan.machine_procs, sent.machine_procs);
    EXPECT_EQ(plan.job_id, sent.job_id);
    EXPECT_EQ(plan.heap_bytes, sent.heap_bytes);
    EXPECT_EQ(plan.heap_bound, sent.heap_bound);
    EXPECT_EQ(plan.cipher, sent.cipher);
    EXPECT_EQ(plan.addresses, sent.addresses);
    EXPECT_EQ(plan.networks, sent.networks);
    EXPECT_EQ(plan.directory, sent.directory);
    EXPECT_TRUE(plan.is_netns && plan.is_quiet);
}

TEST(LaunchPlanTest, a_node_knows_its_processes) {
    LaunchPlan plan;
    plan.procs = 7;
    EXPECT_EQ(plan.nodes(), 1U);
    EXPECT_EQ(plan.first(), 0U);
    EXPECT_EQ(plan.local_procs(), 7U);
    plan.first_process = {0, 3, 5};
    EXPECT_EQ(plan.nodes(), 3U);
    const std::vector<std::uint32_t> counts{3, 2, 2};
    for (plan.node = 0; plan.node < 3; ++plan.node) {
        EXPECT_EQ(plan.first(), plan.first_process[plan.node]);
        EXPECT_EQ(plan.local_procs(), counts[plan.node]);
    }
}

TEST(LaunchPlanTest, programs_are_given_to_processes_in_their_order) {
    LaunchPlan plan;
    plan.procs = 6;
    plan.programs = {{2, "/a", {"a"}}, {1, "/b", {"b"}}, {3, "/a", {"a", "x"}}};
    for (const std::uint32_t process : {0U, 1U}) {
        EXPECT_EQ(&plan.program_of(process), &plan.programs[0]) << process;
    }
    EXPECT_EQ(&plan.program_of(2), &plan.programs[1]);
    for (const std::uint32_t process : {3U, 4U, 5U}) {
        EXPECT_EQ(&plan.program_of(process), &plan.programs[2]) << process;
    }
}

TEST(LaunchPlanTest, a_plan_grows_with_its_programs_and_not_with_their_ranks) {
    LaunchPlan few;
    few.procs = 2;
    few.programs = {{1, "/a", {"a"}}, {1, "/b", {"b"}}};
    LaunchPlan many = few;
    many.procs = 2'000'000;
    many.programs[0].procs = many.programs[1].procs = 1'000'000;
    EXPECT_LT(to_bytes(many).size(), to_bytes(few).size() + 32);
}

TEST(LaunchPlanTest, programs_that_do_not_share_the_processes_are_refused) {
    const auto is_taken = [](std::vector<LaunchProgram> programs) {
        LaunchPlan plan;
        plan.procs = 4;
        plan.programs = std::move(programs);
        return launch_plan_from(to_bytes(plan)).is_ok();
    };
    const LaunchProgram two{2, "/a", {"a"}};
    EXPECT_TRUE(is_taken({two, two}));
    EXPECT_FALSE(is_taken({}));
    EXPECT_FALSE(is_taken({two}));
    EXPECT_FALSE(is_taken({two, two, two}));
    EXPECT_FALSE(is_taken({two, two, {0, "/a", {"a"}}}));
    EXPECT_FALSE(is_taken({two, {2, "", {"a"}}}));
    EXPECT_FALSE(is_taken({two, {2, "/a", {}}}));
    const std::uint32_t most = UINT32_MAX;  // a sum that does not wrap
    EXPECT_FALSE(is_taken({{most, "/a", {"a"}}, {5, "/a", {"a"}}}));
}

TEST(LaunchPlanTest, the_number_of_programs_has_a_bound) {
    LaunchPlan plan;
    plan.procs = launch_programs_max;
    plan.programs.assign(launch_programs_max, {1, "/a", {"a"}});
    EXPECT_TRUE(launch_plan_from(to_bytes(plan)).is_ok());
    plan.programs.push_back(plan.programs.front());
    ++plan.procs;
    EXPECT_FALSE(launch_plan_from(to_bytes(plan)).is_ok());
}

TEST(LaunchPlanTest, what_belongs_to_a_program_comes_behind_it) {
    const std::string start = "version=" + std::to_string(launch_plan_version) + '\0';
    for (const std::string early : {"ranks=1", "argument=a"}) {
        const std::string late =
            std::string("program=/a") + '\0' + "ranks=1" + '\0' + "argument=a" + '\0';
        EXPECT_TRUE(launch_plan_from(start + late).is_ok());
        EXPECT_FALSE(launch_plan_from(start + early + '\0' + late).is_ok()) << early;
    }
}

TEST(LaunchPlanTest, nodes_without_processes_and_processes_without_a_node_are_refused) {
    for (const char* fields :
         {"node=3", "first=1,2,3", "first=0,0,3", "first=0,5,4", "first=0,3,1024", "procs=501"}) {
        EXPECT_FALSE(launch_plan_from(to_bytes(full_plan()) + fields + '\0').is_ok()) << fields;
    }
}

TEST(LaunchPlanTest, a_plan_cut_off_inside_a_field_is_refused) {
    const std::string whole = to_bytes(full_plan());
    for (std::size_t length = 1; length < whole.size(); ++length) {
        if (whole[length - 1] == '\0') continue;  // a shorter plan, but a plan
        EXPECT_FALSE(launch_plan_from(whole.substr(0, length)).is_ok()) << length;
    }
}

TEST(LaunchPlanTest, another_version_and_unknown_fields_are_a_mismatch) {
    const std::string body = to_bytes(full_plan()).substr(std::string("version=4").size() + 1);
    const auto other_version = launch_plan_from(std::string("version=3") + '\0' + body);
    ASSERT_FALSE(other_version.is_ok());
    EXPECT_EQ(other_version.failure().code(), base::Code::mismatch);
    const auto unknown = launch_plan_from(to_bytes(full_plan()) + "colour=red" + '\0');
    ASSERT_FALSE(unknown.is_ok());
    EXPECT_EQ(unknown.failure().code(), base::Code::mismatch);
    EXPECT_FALSE(launch_plan_from(body).is_ok());
}

TEST(LaunchPlanTest, values_that_do_not_fit_are_refused) {
    for (const char* field :
         {"procs=", "procs=x", "ranks=", "ranks=x", "ranks=4294967296", "procs=4294967296",
          "tags=2", "bound=yes", "first=0,x", "first=0,,3", "job=-1", "netns="}) {
        EXPECT_FALSE(launch_plan_from(to_bytes(full_plan()) + field + '\0').is_ok()) << field;
    }
    EXPECT_FALSE(launch_plan_from("").is_ok());
    EXPECT_FALSE(launch_plan_from(to_bytes(LaunchPlan{})).is_ok());
}

TEST(LaunchPlanTest, setting_a_variable_replaces_the_one_of_that_name_only) {
    std::vector<std::string> entries{"A=1", "AB=2"};
    set_variable(entries, "AB", "3=4");
    set_variable(entries, "B", "");
    EXPECT_EQ(entries, (std::vector<std::string>{"A=1", "AB=3=4", "B="}));
}

}  // namespace
}  // namespace acp::launch::test
