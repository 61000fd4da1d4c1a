# SPDX-License-Identifier: BSD-3-Clause
# The target docs, by pandoc: docs/man/<name>.<section>.md as man pages, and those, the guides and the specifications as
# HTML with a page that lists them. Not part of `all`: a build does not wait for it; what it has made is installed.
find_program(ACP_PANDOC pandoc)
set(ACP_HTML "${PROJECT_BINARY_DIR}/html")
set(ACP_DOCS_ON_DEMAND acpsim.1)  # of programs that are not installed

# acp_page_names(page name out): the further names of a page's NAME section, without its own.
function(acp_page_names page name out)
    file(READ "${page}" text)
    set(names "")
    if(text MATCHES "# *NAME *\n+([^\n]+(\n[^\n#]+)*)")
        string(REGEX REPLACE "[ \n](-|--|—|–|\\\\-)[ \n].*$" "" names "${CMAKE_MATCH_1}")
        string(REPLACE "\\" "" names "${names}")
        string(REGEX MATCHALL "[A-Za-z0-9_+-]+" names "${names}")
        list(REMOVE_ITEM names "${name}")
    endif()
    set(${out} ${names} PARENT_SCOPE)
endfunction()

# acp_page_title(page out): what it is about: the line of its NAME section, or else its first heading.
function(acp_page_title page out)
    file(READ "${page}" text)
    if(NOT text MATCHES "# *NAME *\n+([^\n]+(\n[^\n#]+)*)")
        string(REGEX MATCH "^# *([^\n]+)" heading "${text}")
    endif()
    string(REPLACE "\n" " " title "${CMAKE_MATCH_1}")
    set(${out} "${title}" PARENT_SCOPE)
endfunction()

# acp_html_page(page folder title): build/.../html/folder/<stem>.html. Appends to ACP_DOCS and to the list of pages.
function(acp_html_page page folder title)
    cmake_path(GET page STEM LAST_ONLY stem)
    set(html "${ACP_HTML}/${folder}/${stem}.html")
    add_custom_command(OUTPUT "${html}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${ACP_HTML}/${folder}"
        COMMAND "${ACP_PANDOC}" --standalone --from markdown --to html5 --metadata "pagetitle=${stem} - ACP"
                --lua-filter "${PROJECT_SOURCE_DIR}/cmake/html.lua" --metadata "names=${PROJECT_BINARY_DIR}/man_names.txt"
                --output "${html}" "${page}"
        DEPENDS "${page}" "${PROJECT_SOURCE_DIR}/cmake/html.lua" "${PROJECT_BINARY_DIR}/man_names.txt"
        COMMENT "HTML page ${folder}/${stem}" VERBATIM)
    set_property(GLOBAL APPEND PROPERTY ACP_DOCS "${html}")
    set_property(GLOBAL APPEND_STRING PROPERTY ACP_DOCS_INDEX "- [${stem}](${folder}/${stem}.html): ${title}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
endfunction()

# One man page, and for every further name of its NAME section a page that points to it.
function(acp_man_page page name section)
    set(folder "${PROJECT_BINARY_DIR}/man/man${section}")
    add_custom_command(OUTPUT "${folder}/${name}.${section}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
        COMMAND "${ACP_PANDOC}" --standalone --from markdown --to man
                --lua-filter "${PROJECT_SOURCE_DIR}/cmake/man.lua"
                --variable adjusting=l --variable "footer=ACP ${PROJECT_VERSION}" --output "${folder}/${name}.${section}" "${page}"
        DEPENDS "${page}" "${PROJECT_SOURCE_DIR}/cmake/man.lua" COMMENT "Man page ${name}(${section})" VERBATIM)
    set_property(GLOBAL APPEND PROPERTY ACP_DOCS "${folder}/${name}.${section}")
    set_property(GLOBAL APPEND_STRING PROPERTY ACP_MAN_NAMES "${name} ${section} ${name}.${section}\n")
    acp_page_names("${page}" "${name}" names)
    foreach(other IN LISTS names)
        if(NOT EXISTS "${PROJECT_SOURCE_DIR}/docs/man/${other}.${section}.md")
            file(CONFIGURE OUTPUT "${folder}/${other}.${section}" CONTENT ".so man${section}/${name}.${section}\n")
            set_property(GLOBAL APPEND_STRING PROPERTY ACP_MAN_NAMES "${other} ${section} ${name}.${section}\n")
        endif()
    endforeach()
endfunction()

function(acp_add_docs)
    file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.md")
    foreach(folder guide spec)
        set_property(GLOBAL APPEND_STRING PROPERTY ACP_DOCS_INDEX "\n## ${folder}\n\n")
        file(GLOB texts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/${folder}/*.md")
        foreach(text IN LISTS texts)
            acp_page_title("${text}" title)
            acp_html_page("${text}" ${folder} "${title}")
        endforeach()
    endforeach()
    set_property(GLOBAL APPEND_STRING PROPERTY ACP_DOCS_INDEX "\n## man\n\n")
    foreach(page IN LISTS pages)
        cmake_path(GET page FILENAME file)
        cmake_path(GET page STEM LAST_ONLY stem)
        if(NOT file MATCHES "^(.+)\\.([1-8])\\.md$" OR stem IN_LIST ACP_DOCS_ON_DEMAND)
            continue()
        endif()
        acp_man_page("${page}" "${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
        acp_page_title("${page}" title)
        acp_html_page("${page}" man "${title}")
    endforeach()

    get_property(names GLOBAL PROPERTY ACP_MAN_NAMES)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/man_names.txt" CONTENT "${names}" @ONLY)
    get_property(index GLOBAL PROPERTY ACP_DOCS_INDEX)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/index.md" CONTENT "# ACP ${PROJECT_VERSION}\n${index}" @ONLY)
    add_custom_command(OUTPUT "${ACP_HTML}/index.html"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${ACP_HTML}"
        COMMAND "${ACP_PANDOC}" --standalone --from markdown --to html5 --metadata pagetitle=ACP
                --output "${ACP_HTML}/index.html" "${PROJECT_BINARY_DIR}/index.md"
        DEPENDS "${PROJECT_BINARY_DIR}/index.md" COMMENT "HTML page index" VERBATIM)
    get_property(made GLOBAL PROPERTY ACP_DOCS)
    add_custom_target(docs DEPENDS ${made} "${ACP_HTML}/index.html")
    install(DIRECTORY "${PROJECT_BINARY_DIR}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
    install(DIRECTORY "${ACP_HTML}/" DESTINATION "${CMAKE_INSTALL_DOCDIR}/html" OPTIONAL)
endfunction()

if(PROJECT_IS_TOP_LEVEL AND ACP_PANDOC AND NOT CMAKE_CROSSCOMPILING)
    acp_add_docs()
elseif(PROJECT_IS_TOP_LEVEL)
    add_custom_target(docs
        COMMAND "${CMAKE_COMMAND}" -E echo "docs: CMake found no pandoc, which makes man pages and HTML. Once it is there, configure"
                "anew: cmake ${PROJECT_BINARY_DIR}. Without it, cmake --install ${PROJECT_BINARY_DIR} installs all the rest."
        COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
endif()
