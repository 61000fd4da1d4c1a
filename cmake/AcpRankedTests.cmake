# SPDX-License-Identifier: BSD-3-Clause
# Tests that run under acprun, in one or in all modes of the library. A mode is a name and the environment that
# selects it; a suite is written once and instantiated per mode in a line.

set(ACP_MODE_auto "")
set(ACP_MODE_attach-off ACP_ATTACH=off)
set(ACP_MODE_direct ACP_INTRANODE=direct)
set(ACP_MODE_attach ACP_INTRANODE=attach)
set(ACP_MODE_mailbox ACP_INTRANODE=mailbox ACP_MAILBOX=mpsc ACP_DATAGRAM=auto)
set(ACP_MODE_mailbox-small ACP_INTRANODE=mailbox ACP_MAILBOX=mpsc ACP_DATAGRAM=1408)
set(ACP_MODE_bitmap ACP_INTRANODE=mailbox ACP_MAILBOX=bitmap ACP_DATAGRAM=auto)
set(ACP_MODE_pairs ACP_INTRANODE=mailbox ACP_MAILBOX=pairs ACP_DATAGRAM=1408 ACP_BYPASS=on)
set(ACP_MODE_pairs-nobypass ACP_INTRANODE=mailbox ACP_MAILBOX=pairs ACP_DATAGRAM=1408 ACP_BYPASS=off)
set(ACP_MODE_udp ACP_INTRANODE=udp ACP_BYPASS=on)
set(ACP_MODE_udp-nobypass ACP_INTRANODE=udp ACP_BYPASS=off)
set(ACP_ALL_MODES auto attach-off direct attach mailbox mailbox-small bitmap pairs pairs-nobypass udp
    udp-nobypass)

# acp_ranked_program(name SOURCES file... [LIBRARIES target...])
#   A GoogleTest program for all ranks of a job, with main() and fixture of tests/support/ranked.hpp.
function(acp_ranked_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
    acp_test_program(${name} SOURCES ${arg_SOURCES} LIBRARIES acp_test_ranked ${arg_LIBRARIES})
endfunction()

# acp_test_program(name SOURCES file... [LIBRARIES target...]): a program used by tests, over the public API.
function(acp_test_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    acp_configure(${name})
    acp_compile_quickly(${name})
    acp_precompile(tests ${name})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_compile_definitions(${name} PRIVATE ACP_TEST_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
        ACP_TEST_PROGRAM_DIR="${PROJECT_BINARY_DIR}/tests")
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} acp acp_test_support)
    add_dependencies(${name} acprun)
endfunction()

# acp_add_kill_test(name driver label timeout nodes trials): one ctest, so many jobs over so many nodes.
function(acp_add_kill_test name driver label timeout nodes trials)
    add_test(NAME ${name} COMMAND ${driver}_driver WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} RUN_SERIAL ON
        ENVIRONMENT "TEST_NODES=${nodes};TEST_TRIALS=${trials}")
endfunction()

# acp_add_kill_tests(name trials NODES n... SOAK_NODES n...): tests/name/kill_test.cpp, made of support/kill_driver.hpp, which starts jobs of
#   tests/name/victim.cpp: over each number of nodes so many, and 200 where they soak.
function(acp_add_kill_tests name trials)
    cmake_parse_arguments(arg "" "" "NODES;SOAK_NODES" ${ARGN})
    acp_test_program(${name}_victim SOURCES victim.cpp)
    acp_test_program(${name}_driver SOURCES kill_test.cpp LIBRARIES GTest::gtest GTest::gtest_main)
    add_dependencies(${name}_driver ${name}_victim)
    foreach(nodes ${arg_NODES} ${arg_SOAK_NODES})
        set(where_${nodes} ".${nodes}_nodes")
    endforeach()
    set(where_1 "")
    foreach(nodes ${arg_NODES})
        acp_add_kill_test(${name}.kills${where_${nodes}} ${name} faults 600 ${nodes} ${trials})
    endforeach()
    foreach(nodes ${arg_SOAK_NODES})
        acp_add_kill_test(soak.${name}.kills${where_${nodes}} ${name} soak 3600 ${nodes} 200)
    endforeach()
endfunction()

# acp_add_job_test(name PROGRAM target LABEL label [RANKS n] [MODE mode] [TIMEOUT seconds] [SERIAL]
#                  [LAUNCHER option...] [ENVIRONMENT NAME=VALUE...] [ARGUMENTS word...])
#   One ctest that runs the program on n ranks (default 4) in a mode (default auto).
function(acp_add_job_test name)
    cmake_parse_arguments(arg "SERIAL" "PROGRAM;LABEL;RANKS;MODE;TIMEOUT" "LAUNCHER;ENVIRONMENT;ARGUMENTS"
        ${ARGN})
    foreach(default RANKS=4 MODE=auto TIMEOUT=180)
        string(REPLACE "=" ";" pair ${default})
        list(GET pair 0 key)
        if(NOT arg_${key})
            list(GET pair 1 arg_${key})
        endif()
    endforeach()
    # Ranks wait for each other most of the time: up to four of them keep little more than one CPU busy.
    math(EXPR slots "(${arg_RANKS} + 3) / 4")
    add_test(NAME ${name} COMMAND acprun -n ${arg_RANKS} ${arg_LAUNCHER} $<TARGET_FILE:${arg_PROGRAM}>
        ${arg_ARGUMENTS} WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT}
        PROCESSORS ${slots} ENVIRONMENT "${ACP_MODE_${arg_MODE}};${arg_ENVIRONMENT}")
    if(arg_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()
