// SPDX-License-Identifier: BSD-3-Clause
// The section about this build of ACP. The compiler's name and version are its macros; the build
// system defines the rest.
#include "base/version.hpp"
#include "node/segment.hpp"

#include "sections.hpp"

namespace acp::acpinfo {

namespace {

std::string compiler() {
#if defined(__clang__)
    return std::string("Clang ") + __clang_version__;
#elif defined(__GNUC__)
    return std::string("GCC ") + __VERSION__;
#else
    return "unknown";
#endif
}

std::string hexadecimal(std::uint64_t value) {
    std::string text(16, '0');
    for (std::size_t i = text.size(); i-- > 0; value >>= 4)
        text[i] = "0123456789abcdef"[value & 15U];
    return text;
}

}  // namespace

Section build_section() {
    return {"build",
            "Build",
            {{"version", base::build_description, Verdict::plain, {}, base::version},
             {"compiler", compiler()},
             {"flags", ACP_BUILD_FLAGS},
             {"instruction set", ACP_BUILD_MARCH},
             {"layout",
              hexadecimal(node::layout_hash()) + " (equal in all processes of a job)",
              Verdict::plain,
              {},
              hexadecimal(node::layout_hash())}}};
}

}  // namespace acp::acpinfo
