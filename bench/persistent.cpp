// Compiled for each host: Open MPI 4.1 has these functions by other names.
#include "persistent.h"

#include <tuple>
#include <vector>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define TUTTI_BENCH_INIT(name) MPIX_##name##_init
#define TUTTI_BENCH_HOST_INIT(name) PMPIX_##name##_init
#else
#define TUTTI_BENCH_INIT(name) MPI_##name##_init
#define TUTTI_BENCH_HOST_INIT(name) PMPI_##name##_init
#endif

namespace tutti::bench {

namespace {

std::vector<void (*)()>& forgetters() {
  static std::vector<void (*)()> all;
  return all;
}

template <auto init, auto start, auto wait, auto free, class Blocking>
struct Kept;

template <auto init, auto start, auto wait, auto free, class... Arguments>
struct Kept<init, start, wait, free, int (*)(Arguments...)> {
  static int call(Arguments... arguments) {
    const std::tuple<Arguments...> wanted(arguments...);
    if (last >= all.size() || all[last].arguments != wanted) {
      for (last = 0; last < all.size() && all[last].arguments != wanted;) ++last;
      if (last == all.size()) {
        if (all.empty()) forgetters().push_back(&forget);
        MPI_Request made = MPI_REQUEST_NULL;
        if (const int code = init(arguments..., MPI_INFO_NULL, &made); code != MPI_SUCCESS) return code;
        all.push_back({wanted, made});
      }
    }
    MPI_Request& request = all[last].request;
    const int code = start(&request);
    compute();
    return code == MPI_SUCCESS ? wait(&request, MPI_STATUS_IGNORE) : code;
  }

 private:
  struct Ready {
    std::tuple<Arguments...> arguments;
    MPI_Request request;
  };
  static void forget() {
    for (Ready& each : all) free(&each.request);
    all.clear();
  }
  static inline std::vector<Ready> all;
  static inline std::size_t last = 0;  ///< the one that was called last
};

}  // namespace

const Functions& persistent_functions_of(Side side) {
#define TUTTI_BENCH_ADDRESS(name, started) \
  &Kept<&TUTTI_BENCH_HOST_INIT(name), &PMPI_Start, &PMPI_Wait, &PMPI_Request_free, decltype(&MPI_##name)>::call,
  static const Functions host{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
#define TUTTI_BENCH_ADDRESS(name, started) \
  &Kept<&TUTTI_BENCH_INIT(name), &MPI_Start, &MPI_Wait, &MPI_Request_free, decltype(&MPI_##name)>::call,
  static const Functions tutti{TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_ADDRESS)};
#undef TUTTI_BENCH_ADDRESS
  return side == Side::kHost ? host : tutti;
}

void forget_persistent() {
  for (const auto forget : forgetters()) forget();
  forgetters().clear();
}

}  // namespace tutti::bench
