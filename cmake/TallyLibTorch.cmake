# Finds LibTorch and makes one target of it, Tally::libtorch. In this order, and
# the first that is there is taken: -DTALLY_LIBTORCH, the variable LIBTORCH,
# Torch_DIR, CMAKE_PREFIX_PATH, the one that Tally was built with, and the torch
# that python3 imports. LibTorch's own CMake package is left alone: it wants a
# CUDA toolkit where LibTorch was built with one. Sets TALLY_LIBTORCH_ROOT,
# TALLY_LIBTORCH_VERSION and TALLY_CXX_FEATURE, the C++ that its headers need.

set(TALLY_LIBTORCH "" CACHE PATH
    "LibTorch's folder, with include and lib in it; else it is looked for")

# The numbers of port/libtorch_versions.txt, which is installed beside this file.
set(_tally_versions_file "${CMAKE_CURRENT_LIST_DIR}/libtorch_versions.txt")
if(NOT EXISTS "${_tally_versions_file}")
  set(_tally_versions_file
      "${CMAKE_CURRENT_LIST_DIR}/../port/libtorch_versions.txt")
endif()
foreach(_tally_key IN ITEMS oldest newest cxx20)
  file(STRINGS "${_tally_versions_file}" _tally_libtorch_${_tally_key}
      REGEX "^${_tally_key} ")
  string(REPLACE "${_tally_key} " "" _tally_libtorch_${_tally_key}
      "${_tally_libtorch_${_tally_key}}")
endforeach()
set(_tally_libtorch_range
    "${_tally_libtorch_oldest} to ${_tally_libtorch_newest}")

# Sets `result` to the version of the LibTorch in a folder, "" if there is none.
function(_tally_libtorch_version folder result)
  set(version "")
  if(EXISTS ${folder}/lib/libtorch_cpu.so AND EXISTS ${folder}/include/torch)
    set(version "before 2.9")
    set(header ${folder}/include/torch/headeronly/version.h)
    if(EXISTS ${header})
      file(STRINGS ${header} lines REGEX "#define TORCH_VERSION_M|_PATCH [0-9]")
      string(REGEX MATCHALL " [0-9]+" numbers "${lines}")
      list(TRANSFORM numbers STRIP)
      list(JOIN numbers "." version)
    endif()
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# Prints where python3 has its torch, which need not be importable to be found.
function(_tally_python_torch result)
  find_program(_tally_python3 python3 NO_CACHE)
  set(folder "")
  if(_tally_python3)
    execute_process(
        COMMAND ${_tally_python3} -c
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
        OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Sets TALLY_LIBTORCH_ROOT and _VERSION; `built_with` is one that Tally was built
# with, if any.
function(_tally_find_libtorch built_with)
  set(root "")
  set(roots "")
  foreach(given IN ITEMS "${TALLY_LIBTORCH}" "$ENV{LIBTORCH}")
    if(given AND NOT root)
      _tally_libtorch_version("${given}" version)
      if(NOT version)
        message(FATAL_ERROR "Tally: ${given} holds no LibTorch: expected "
            "include/torch and lib/libtorch_cpu.so in it")
      endif()
      set(root "${given}")
    endif()
  endforeach()
  if(NOT root)
    set(candidates ${CMAKE_PREFIX_PATH})
    if(Torch_DIR)
      get_filename_component(above "${Torch_DIR}/../../.." ABSOLUTE)
      list(PREPEND candidates "${above}")
    endif()
    foreach(candidate IN LISTS candidates)
      # Also of the form that torch.utils.cmake_prefix_path has.
      foreach(folder IN ITEMS "${candidate}" "${candidate}/../..")
        if(candidate)
          _tally_libtorch_version("${folder}" found)
          if(found)
            get_filename_component(folder "${folder}" REALPATH)
            list(APPEND roots "${folder}")
          endif()
        endif()
      endforeach()
    endforeach()
    list(REMOVE_DUPLICATES roots)
    list(LENGTH roots count)
    if(count GREATER 0)
      list(GET roots 0 root)
    else()
      _tally_libtorch_version("${built_with}" found)
      if(found)
        set(root "${built_with}")
      endif()
    endif()
    if(count GREATER 1)
      list(JOIN roots " and " all)
      message(WARNING "Tally: there are several LibTorches, ${all}, and the "
          "first is taken: choose one by -DTALLY_LIBTORCH=...")
    endif()
  endif()
  set(hint "")
  if(NOT root)
    _tally_python_torch(folder)
    _tally_libtorch_version("${folder}" found)
    if(found)
      set(root "${folder}")
    elseif(folder)
      set(hint ": python3's, ${folder}, has no include/torch or libtorch_cpu.so")
    endif()
  endif()
  if(NOT root)
    message(FATAL_ERROR "Tally: no LibTorch was found${hint}. Give its folder "
        "by -DTALLY_LIBTORCH=..., the variable LIBTORCH or CMAKE_PREFIX_PATH, "
        "or install torch for the python3 on PATH")
  endif()
  _tally_libtorch_version("${root}" version)
  set(TALLY_LIBTORCH_ROOT "${root}" PARENT_SCOPE)
  set(TALLY_LIBTORCH_VERSION "${version}" PARENT_SCOPE)
endfunction()

# Ends here if it is not one that Tally takes.
function(_tally_check_libtorch)
  set(where "${TALLY_LIBTORCH_ROOT} is LibTorch ${TALLY_LIBTORCH_VERSION}")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor "${TALLY_LIBTORCH_VERSION}")
  if(NOT minor OR minor VERSION_LESS _tally_libtorch_oldest)
    message(FATAL_ERROR "Tally: ${where}, and Tally takes "
        "${_tally_libtorch_range}: give the folder of another by "
        "-DTALLY_LIBTORCH=...")
  elseif(minor VERSION_GREATER _tally_libtorch_newest)
    if(TALLY_LIBTORCH_UNTESTED OR "$ENV{TALLY_LIBTORCH_UNTESTED}" STREQUAL 1)
      message(WARNING "Tally: ${where}, and Tally was tested with "
          "${_tally_libtorch_range}")
    else()
      message(FATAL_ERROR "Tally: ${where}, and Tally was tested with "
          "${_tally_libtorch_range}: try it with -DTALLY_LIBTORCH_UNTESTED=ON, "
          "or give the folder of another by -DTALLY_LIBTORCH=...")
    endif()
  endif()
  # Functions that take strings have it in their names.
  set(library ${TALLY_LIBTORCH_ROOT}/lib/libc10.so)
  if(EXISTS ${library})
    file(STRINGS ${library} names REGEX "__cxx11" LIMIT_COUNT 1)
    if(NOT names)
      message(FATAL_ERROR "Tally: ${TALLY_LIBTORCH_ROOT} is compiled with "
          "_GLIBCXX_USE_CXX11_ABI=0, whose strings fit no library of this "
          "system: give the folder of one without by -DTALLY_LIBTORCH=...; "
          "those of PyPI are, from 2.7 on")
    endif()
  endif()
endfunction()

# Ends here if what a directory says itself does not fit: `root` is Tally's LibTorch,
# and `others` a range of those that need no C++20, if it does.
function(_tally_check_directory root version others)
  # Of find_package(Torch).
  if(TORCH_INSTALL_PREFIX)
    get_filename_component(theirs "${TORCH_INSTALL_PREFIX}" REALPATH)
    get_filename_component(ours "${root}" REALPATH)
    if(NOT theirs STREQUAL ours)
      message(FATAL_ERROR "Tally: two LibTorches in one project: "
          "find_package(Torch) took ${theirs}, and Tally ${ours}: give the "
          "same for both, -DTALLY_LIBTORCH=${theirs}")
    endif()
  endif()
  # Behind the option that CMake writes for cxx_std_20, of which the last counts.
  get_directory_property(options COMPILE_OPTIONS)
  if(others AND "${options}" MATCHES "-std=[a-z]+[+][+](0x|1[0-9yz]|98|03)")
    message(FATAL_ERROR "Tally: LibTorch ${version} needs C++20, and "
        "add_compile_options has ${CMAKE_MATCH_0}: leave it out, as Tally's "
        "targets ask for cxx_std_20, or give a LibTorch of ${others} by "
        "-DTALLY_LIBTORCH=...")
  endif()
endfunction()

_tally_find_libtorch("${_tally_built_with}")
_tally_check_libtorch()
set(TALLY_CXX_FEATURE cxx_std_17)
if(NOT TALLY_LIBTORCH_VERSION VERSION_LESS _tally_libtorch_cxx20)
  set(TALLY_CXX_FEATURE cxx_std_20)
endif()

# Now, and once all has been said: by this directory, and by the project if Tally is
# a part of it.
set(_tally_seventeen "")
if(TALLY_CXX_FEATURE STREQUAL cxx_std_20)
  string(REPLACE "." ";" _tally_seventeen ${_tally_libtorch_cxx20})
  list(GET _tally_seventeen 1 _tally_seventeen)
  math(EXPR _tally_seventeen "${_tally_seventeen} - 1")
  set(_tally_seventeen "${_tally_libtorch_oldest} to 2.${_tally_seventeen}")
endif()
_tally_check_directory("${TALLY_LIBTORCH_ROOT}" "${TALLY_LIBTORCH_VERSION}"
    "${_tally_seventeen}")
foreach(_tally_directory IN ITEMS
    "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}")
  # The values that these variables have here.
  cmake_language(EVAL CODE "cmake_language(DEFER
      DIRECTORY [[${_tally_directory}]] CALL _tally_check_directory
      [[${TALLY_LIBTORCH_ROOT}]] [[${TALLY_LIBTORCH_VERSION}]]
      [[${_tally_seventeen}]])")
endforeach()

if(NOT TARGET Tally::libtorch)
  # Not torch_cpu and c10: those are what find_package(Torch) makes.
  foreach(library IN ITEMS torch_cpu c10)
    add_library(Tally::${library} SHARED IMPORTED GLOBAL)
    set_target_properties(Tally::${library} PROPERTIES
        IMPORTED_LOCATION ${TALLY_LIBTORCH_ROOT}/lib/lib${library}.so)
  endforeach()
  add_library(Tally::libtorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(Tally::libtorch SYSTEM INTERFACE
      ${TALLY_LIBTORCH_ROOT}/include
      ${TALLY_LIBTORCH_ROOT}/include/torch/csrc/api/include)
  # As LibTorch's own package: its headers differ without.
  target_compile_definitions(Tally::libtorch INTERFACE USE_DISTRIBUTED)
  target_compile_features(Tally::libtorch INTERFACE ${TALLY_CXX_FEATURE})
  target_link_libraries(Tally::libtorch INTERFACE
      Tally::torch_cpu Tally::c10 -pthread)
endif()

# Makes Tally::libtorch_nccl, for a Tally that was built with TALLY_NCCL.
function(_tally_add_libtorch_nccl)
  if(TARGET Tally::libtorch_nccl)
    return()
  endif()
  get_filename_component(packages ${TALLY_LIBTORCH_ROOT} DIRECTORY)
  file(GLOB folders ${packages}/nvidia/*/include)
  list(APPEND folders $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  add_library(Tally::libtorch_nccl INTERFACE IMPORTED GLOBAL)
  foreach(header IN ITEMS cuda_runtime_api.h nccl.h)
    find_path(folder ${header} HINTS ${folders} NO_CACHE)
    if(NOT folder)
      message(FATAL_ERROR "Tally: TALLY_NCCL needs ${header}: install torch "
          "with all its dependencies, or set CUDA_HOME")
    endif()
    target_include_directories(Tally::libtorch_nccl SYSTEM INTERFACE ${folder})
    unset(folder)
  endforeach()
  foreach(library IN ITEMS torch_cuda c10_cuda)
    set(file ${TALLY_LIBTORCH_ROOT}/lib/lib${library}.so)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "Tally: TALLY_NCCL needs a LibTorch with CUDA and "
          "NCCL: there is no ${file}")
    endif()
    add_library(Tally::${library} SHARED IMPORTED GLOBAL)
    set_target_properties(Tally::${library} PROPERTIES IMPORTED_LOCATION ${file})
    target_link_libraries(Tally::libtorch_nccl INTERFACE Tally::${library})
  endforeach()
  target_compile_definitions(Tally::libtorch_nccl INTERFACE
      USE_C10D_NCCL USE_CUDA)
endfunction()
