# Finds LibTorch and makes one target of it, Tally::libtorch. In this order, and
# the first that is there is taken: -DTALLY_LIBTORCH, the variable LIBTORCH,
# Torch_DIR, CMAKE_PREFIX_PATH, the one that Tally was built with, and the torch
# that python3 imports. LibTorch's own CMake package is left alone: it wants a
# CUDA toolkit where LibTorch was built with one. Sets TALLY_LIBTORCH_ROOT and
# TALLY_LIBTORCH_VERSION.

set(TALLY_LIBTORCH "" CACHE PATH
    "LibTorch's folder, with include and lib in it; else it is looked for")

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
    set(candidates ${CMAKE_PREFIX_PATH} "${built_with}")
    if(Torch_DIR)
      get_filename_component(above "${Torch_DIR}/../../.." ABSOLUTE)
      list(PREPEND candidates "${above}")
    endif()
    foreach(candidate IN LISTS candidates)
      # Also of the form that torch.utils.cmake_prefix_path has.
      foreach(folder IN ITEMS "${candidate}" "${candidate}/../..")
        if(candidate AND NOT root)
          _tally_libtorch_version("${folder}" version)
          if(version)
            get_filename_component(root "${folder}" ABSOLUTE)
          endif()
        endif()
      endforeach()
    endforeach()
  endif()
  if(NOT root)
    _tally_python_torch(folder)
    _tally_libtorch_version("${folder}" version)
    if(version)
      set(root "${folder}")
    endif()
  endif()
  set(TALLY_LIBTORCH_ROOT "${root}" PARENT_SCOPE)
  set(TALLY_LIBTORCH_VERSION "${version}" PARENT_SCOPE)
endfunction()

_tally_find_libtorch("${_tally_built_with}")
if(NOT TALLY_LIBTORCH_ROOT)
  message(FATAL_ERROR "Tally: no LibTorch was found. Give its folder by "
      "-DTALLY_LIBTORCH=..., the variable LIBTORCH or CMAKE_PREFIX_PATH, or "
      "install torch for the python3 on PATH")
endif()

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
  target_compile_features(Tally::libtorch INTERFACE cxx_std_17)
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
