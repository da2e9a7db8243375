# LLVM, MLIR and LLD 22: the target heddle_llvm that executables link (dylib for development, archives for a release),
# heddle_quick_llvm for those that tests start most, the definitions and include paths for the compiler's rooms, TableGen, and the shared precompiled header.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(HEDDLE_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(TRANSFORM HEDDLE_LLVM_DEFINITIONS REPLACE "^-D" "")

if(HEDDLE_STATIC)
  include(${CMAKE_CURRENT_LIST_DIR}/StaticLlvm.cmake)
  add_library(heddle_llvm ALIAS heddle_static_llvm)
else()
  find_package(LLD 22.1 REQUIRED CONFIG HINTS ${LLVM_LIBRARY_DIR}/cmake/lld)
  add_library(heddle_dynamic_llvm INTERFACE)
  target_link_libraries(heddle_dynamic_llvm INTERFACE MLIR LLVM lldELF lldCommon)
  add_library(heddle_llvm ALIAS heddle_dynamic_llvm)
endif()

# With the archives a program starts in 5 ms of processor time in place of 22; it compiles no faster. Its file has 260 MB, and
# takes a second longer to link.
add_library(heddle_quick_llvm INTERFACE)
if(HEDDLE_STATIC OR HEDDLE_SANITIZE)
  target_link_libraries(heddle_quick_llvm INTERFACE heddle_llvm)
else()
  include(${CMAKE_CURRENT_LIST_DIR}/StaticLlvm.cmake)
  target_link_libraries(heddle_quick_llvm INTERFACE heddle_llvm_archives)
  target_link_options(heddle_quick_llvm INTERFACE "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>")
endif()

if(HEDDLE_PCH)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/pch.cpp CONTENT "") # leaves an old one alone: nothing is rebuilt
  add_library(heddle_pch OBJECT ${CMAKE_CURRENT_BINARY_DIR}/pch.cpp)
  target_include_directories(heddle_pch PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(heddle_pch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(heddle_pch PUBLIC ${HEDDLE_LLVM_DEFINITIONS})
  target_compile_options(heddle_pch PRIVATE ${HEDDLE_WARNINGS})
  target_precompile_headers(heddle_pch PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_LIST_DIR}/CompilerPch.h>")
endif()
