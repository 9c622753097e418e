// The program `tally` of the wheel, whose code is in the library that Python
// loads. A process of its own, as the program starts itself anew for each rank.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  path = path.substr(0, path.rfind('/') + 1) + "libtally_python.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  using Program = int(int, char**);
  auto* program =
      library == nullptr
          ? nullptr
          : reinterpret_cast<Program*>(dlsym(library, "tally_program"));
  if (program == nullptr) {
    std::fprintf(stderr, "tally: %s\n", dlerror());
    return 2;
  }
  return program(argc, argv);
}
