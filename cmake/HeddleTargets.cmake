# The functions by which a room declares its libraries, tools and tests. Link edges follow layers.txt.

set(HEDDLE_WARNINGS -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # The stamp would make ccache miss each rebuild of the precompiled header.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
endif()
if(HEDDLE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# heddle_optimize(NAME): full optimisation also in the dev preset, for code whose speed users and benchmarks see. The front end
# dominates the compile time of code that includes MLIR; there -O1 saves little and suffices.
function(heddle_optimize name)
  target_compile_options(${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-O2>")
endfunction()

# heddle_library(NAME SOURCES a.cpp ... LINKS X ...): a library that knows no MLIR.
function(heddle_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${HEDDLE_WARNINGS})
  heddle_optimize(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINKS})
endfunction()

# heddle_compiler_library(NAME SOURCES a.cpp ... LINKS X ... DEPENDS TableGenTarget ...): a library of the compiler's rooms,
# with MLIR's include paths and the shared precompiled header. It names no MLIR or LLVM target: executables link heddle_llvm.
function(heddle_compiler_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC ${HEDDLE_LLVM_DEFINITIONS})
  target_compile_options(${name} PRIVATE ${HEDDLE_WARNINGS})
  if(HEDDLE_PCH)
    target_precompile_headers(${name} REUSE_FROM heddle_pch)
  endif()
  target_link_libraries(${name} PUBLIC ${arg_LINKS})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# heddle_test(NAME SOURCES a.cpp ... LINKS X ...): one GoogleTest program, registered with CTest. SHARDS 2 makes two
# tests of it, NAME.1 and NAME.2, each with half of the cases, which CTest runs side by side. FILTER chooses cases.
function(heddle_test name)
  if(NOT HEDDLE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT;SHARDS;FILTER" "SOURCES;LINKS" ${ARGN})
  set(filter "")
  if(arg_FILTER)
    set(filter --gtest_filter=${arg_FILTER})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${HEDDLE_WARNINGS})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} HeddleTestPaths HeddleTestMain)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1200)
  endif()
  # Debian's MLIR is not instrumented: memory that our inlined copies of its allocators poison is no fault there.
  set(environment ASAN_OPTIONS=allow_user_poisoning=0)
  if(NOT arg_SHARDS)
    add_test(NAME ${name} COMMAND ${name} ${filter})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${environment}")
    return()
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND ${name} ${filter})
    set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# heddle_long_test(NAME ENVIRONMENT COMMAND ...): a test that only `./dev test --long` runs (ctest -C long).
function(heddle_long_test name environment)
  if(HEDDLE_TESTS)
    add_test(NAME ${name} CONFIGURATIONS long COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT 7200 ENVIRONMENT "ASAN_OPTIONS=allow_user_poisoning=0;${environment}")
  endif()
endfunction()
