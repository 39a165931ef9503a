// C++: large containers built before main and destroyed after it, aligned new, and a library loaded and
// unloaded.
#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

struct Large {
  std::vector<double> values = std::vector<double>(100000, 1.5);
  std::map<int, std::string> names;
  Large() {
    for (int i = 0; i < 1000; ++i) names[i] = std::string(50, 'x');
    CHECK(in_window(values.data()));
  }
  ~Large() {
    double sum = 0;
    for (const double value : values) sum += value;
    CHECK(sum == 150000);
  }
};

Large before_main;
thread_local std::vector<char> of_thread(50000, 'y');

struct alignas(4096) Page {
  unsigned char bytes[20 * 4096];
};

}  // namespace

int main() {
  Page* const pages = new Page[3];
  CHECK(reinterpret_cast<std::uintptr_t>(pages) % 4096 == 0 && in_window(pages));
  delete[] pages;
  std::thread([] { CHECK(in_window(of_thread.data()) && of_thread[49999] == 'y'); }).join();
  CHECK(of_thread[1] == 'y');
  for (int i = 0; i < 3; ++i) {
    void* const library = dlopen("libm.so.6", RTLD_NOW);
    CHECK(library);
    dlclose(library);
  }
  return 0;
}
