# Defines heddle_llvm_archives: MLIR, LLVM and LLD as archives by full path; and heddle_static_llvm, with what makes a program of
# them small. The exported CMake targets are not used: several carry libMLIR.so or libLLVM.so in their link interface, and
# both copies would end up in one process.
include_guard(GLOBAL)
file(GLOB mlir_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a)
list(FILTER mlir_archives EXCLUDE REGEX
     "CAPI|Test|Lsp|PDLLAST|PDLLODS|PDLLCodeGen|Query|Tblgen|TableGen|MlirOptMain")

execute_process(
  COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles nvptx amdgpu x86 orcjit passes
          irreader lto dtlto option perfjitevents
  OUTPUT_VARIABLE llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(llvm_archives UNIX_COMMAND "${llvm_archives}")
list(FILTER llvm_archives EXCLUDE REGEX "Polly")

add_library(heddle_llvm_stubs STATIC ${CMAKE_CURRENT_LIST_DIR}/StaticTargetStubs.cpp)
target_include_directories(heddle_llvm_stubs SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})

add_library(heddle_llvm_archives INTERFACE)
target_link_libraries(heddle_llvm_archives INTERFACE
  "$<LINK_GROUP:RESCAN,${mlir_archives},${llvm_archives},${LLVM_LIBRARY_DIR}/liblldELF.a,${LLVM_LIBRARY_DIR}/liblldCommon.a,heddle_llvm_stubs>"
  -l:libz.a -l:libzstd.a pthread dl m)
add_library(heddle_static_llvm INTERFACE)
target_link_libraries(heddle_static_llvm INTERFACE heddle_llvm_archives)
target_link_options(heddle_static_llvm INTERFACE -Wl,--gc-sections -Wl,--icf=all -static-libstdc++ -static-libgcc)
