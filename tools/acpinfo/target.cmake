# SPDX-License-Identifier: BSD-3-Clause
# acpinfo tells its build's flags, which addresses a job would use, and how shared pages are tracked.
string(TOUPPER "${CMAKE_BUILD_TYPE}" acp_build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${acp_build_type}}" acp_build_flags)
set(acp_build_march "${CMAKE_SYSTEM_PROCESSOR}, the compiler's default")
if(acp_march)
    string(REGEX REPLACE "^-march=" "" acp_build_march "${acp_march}")
endif()
if(ACP_LTO)
    string(APPEND acp_build_flags " -flto")
endif()
if(ACP_SANITIZE)
    string(APPEND acp_build_flags " -fsanitize=${ACP_SANITIZE}")
endif()
target_compile_definitions(acpinfo PRIVATE
    "ACP_BUILD_FLAGS=\"${acp_build_flags}\"" "ACP_BUILD_MARCH=\"${acp_build_march}\"")
target_link_libraries(acpinfo PRIVATE acp_launch acp_dsm)
