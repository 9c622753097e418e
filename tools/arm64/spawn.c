/* Lets programs of ARM64 that run under an emulator start others: the kernel knows no
   such programs, unless it is told, so the emulator ($TALLY_EMULATOR) is started with
   them. To be preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int Spawn(pid_t*, const char*, const posix_spawn_file_actions_t*,
                  const posix_spawnattr_t*, char* const[], char* const[]);

static int is_arm64(const char* path) {
  Elf64_Ehdr header;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 0;
  const size_t read = fread(&header, sizeof(header), 1, file);
  fclose(file);
  return read == 1 && header.e_ident[EI_MAG0] == ELFMAG0 &&
         header.e_machine == EM_AARCH64;
}

int posix_spawn(pid_t* pid, const char* path,
                const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const environment[]) {
  Spawn* const spawn = (Spawn*)dlsym(RTLD_NEXT, "posix_spawn");
  char* const emulator = getenv("TALLY_EMULATOR");
  char program[PATH_MAX];
  if (emulator == NULL || realpath(path, program) == NULL ||
      !is_arm64(program)) {
    return spawn(pid, path, actions, attributes, arguments, environment);
  }
  size_t count = 0;
  while (arguments[count] != NULL) ++count;
  char* emulated[count + 4];
  emulated[0] = emulator;
  emulated[1] = "-0"; /* what the program takes for its name */
  emulated[2] = arguments[0];
  emulated[3] = program;
  for (size_t i = 1; i <= count; ++i) emulated[i + 3] = arguments[i];
  return spawn(pid, emulator, actions, attributes, emulated, environment);
}
