// SPDX-License-Identifier: MIT
// The same library from C++.
#include <cstdio>
#include <memory>

#include <ullage/ullage.h>

struct close_source {
  void operator()(ul_source *source) const {
    ul_source_close(source);
  }
};

int main(int argc, char **argv) {
  ul_source *opened = nullptr;
  ul_error err{};

  if (argc != 2)
    return 2;
  if (ul_source_open(&opened, argv[1], nullptr, &err) != UL_OK) {
    std::fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  const std::unique_ptr<ul_source, close_source> source(opened);
  std::printf("%s %s\n", ul_version(), ul_source_get_info(source.get())->format);
}
