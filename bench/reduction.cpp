// How fast the reduction kernels are, in every level of the memory, against memcpy and against the loop a
// compiler makes of `destination[i] = a[i] + b[i]`. No MPI, one thread.
//
// Bandwidth is bytes read plus bytes written over time: (sources + 1) x array for a kernel, 2 x array for
// memcpy. The working set, all arrays together, is half of the cache named. All subjects of a row are
// measured in turn in each round; shown is the median of the rounds, and with +- half the distance between
// the quartiles, in percent of it.
#include "reduction/reduction.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "reduction/copy.h"

namespace {

using tutti::reduction::Kernel;
using tutti::reduction::Operator;
using tutti::reduction::Order;
using tutti::reduction::Type;

constexpr int rounds = 11;
constexpr double seconds_per_round = 1e-3;

struct Measured {
  double median_seconds;
  double spread_percent;
};

void keep_memory() {
  asm volatile("" ::: "memory");
}

// Time on a core, so that other programs on the machine cost us caches but not their time.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of_a_batch(const std::function<void(long)>& run, long repetitions) {
  const double begin = seconds_now();
  run(repetitions);
  return seconds_now() - begin;
}

/// Each subject runs its work as often as it is told. Rounds visit all subjects, so that a slow moment hits
/// them alike.
std::vector<Measured> measure(const std::vector<std::function<void(long)>>& subjects) {
  std::vector<long> repetitions;
  for (const auto& subject : subjects) {
    long count = 1;
    while (count < (1L << 40) && seconds_of_a_batch(subject, count) < seconds_per_round) count *= 2;
    repetitions.push_back(count);
  }
  std::vector<std::vector<double>> samples(subjects.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      samples[i].push_back(seconds_of_a_batch(subjects[i], repetitions[i]) / static_cast<double>(repetitions[i]));
    }
  }
  std::vector<Measured> results;
  for (auto& sample : samples) {
    std::sort(sample.begin(), sample.end());
    const double median = sample[rounds / 2];
    results.push_back({median, 50 * (sample[rounds * 3 / 4] - sample[rounds / 4]) / median});
  }
  return results;
}

template <class T>
__attribute__((noinline)) void plain_sum(T* destination, const T* a, const T* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) destination[i] = a[i] + b[i];
}

/// Page-aligned arrays, one for the destination and one a source, filled with small numbers.
class Arrays {
 public:
  Arrays(std::size_t count, std::size_t bytes) : bytes_(bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      // One line further each, so that the arrays do not all begin in the same set of the cache.
      const std::size_t offset = 128 * i;
      auto* memory = static_cast<unsigned char*>(std::aligned_alloc(4096, (bytes + offset + 8191) / 4096 * 4096));
      if (memory == nullptr) {
        std::fprintf(stderr, "no memory for %zu arrays of %zu bytes\n", count, bytes);
        std::exit(1);
      }
      std::memset(memory, 0, bytes + offset);
      owned_.push_back(memory);
      arrays_.push_back(memory + offset);
    }
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  ~Arrays() {
    for (void* memory : owned_) std::free(memory);
  }

  void* destination() { return arrays_[0]; }
  const void* const* sources() { return const_cast<const void* const*>(arrays_.data() + 1); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<void*> owned_;
  std::vector<void*> arrays_;
};

std::function<void(long)> kernel_subject(Kernel kernel, Arrays& arrays, std::size_t source_count, std::size_t count) {
  return [=, &arrays](long repetitions) {
    for (long i = 0; i < repetitions; ++i) {
      kernel(arrays.destination(), arrays.sources(), source_count, count, Order::in_pairs);
      keep_memory();
    }
  };
}

std::function<void(long)> memcpy_subject(Arrays& arrays) {
  return [&arrays](long repetitions) {
    for (long i = 0; i < repetitions; ++i) {
      std::memcpy(arrays.destination(), arrays.sources()[0], arrays.bytes());
      keep_memory();
    }
  };
}

template <class T>
std::function<void(long)> plain_subject(Arrays& arrays) {
  return [&arrays](long repetitions) {
    for (long i = 0; i < repetitions; ++i) {
      plain_sum(static_cast<T*>(arrays.destination()), static_cast<const T*>(arrays.sources()[0]),
                static_cast<const T*>(arrays.sources()[1]), arrays.bytes() / sizeof(T));
      keep_memory();
    }
  };
}

struct Level {
  const char* name;
  std::size_t working_set_bytes;
};

/// What Linux says of the first core's caches; sysconf invents sizes on some machines.
std::size_t cache_bytes(int index, std::size_t if_unknown) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  std::size_t kibibytes = 0;
  return file >> kibibytes && kibibytes != 0 ? kibibytes << 10 : if_unknown;
}

std::vector<Level> levels() {
  const std::size_t l1 = cache_bytes(0, std::size_t{32} << 10);
  const std::size_t l2 = cache_bytes(2, std::size_t{512} << 10);
  const std::size_t l3 = std::max(cache_bytes(3, std::size_t{32} << 20), 4 * l2);
  // Six times the last cache, but no more than any machine has to spare.
  return {{"L1", l1 / 2}, {"L2", l2 / 2}, {"L3", l3 / 2}, {"memory", std::min(6 * l3, std::size_t{512} << 20)}};
}

std::string bandwidth(const Measured& measured, std::size_t bytes_moved) {
  char text[32];
  std::snprintf(text, sizeof text, "%8.1f +-%4.1f%%", static_cast<double>(bytes_moved) / measured.median_seconds / 1e9,
                measured.spread_percent);
  return text;
}

void print_bandwidths() {
  std::printf("GB/s read and written, by number of sources\n");
  std::printf("%-8s %-8s %8s %16s %16s %16s %16s %16s\n", "level", "kernel", "KiB", "2", "3", "4", "8", "memcpy");
  struct Subject {
    const char* name;
    Operator operation;
    Type type;
  };
  const Subject subjects[] = {{"sum f64", Operator::sum, Type::f64},         {"sum f32", Operator::sum, Type::f32},
                              {"max i32", Operator::max, Type::i32},         {"prod c64", Operator::prod, Type::c64},
                              {"bor byte", Operator::bor, Type::byte},       {"land i32", Operator::land, Type::i32},
                              {"maxloc fi", Operator::maxloc, Type::f32_i32}};
  for (const Level& level : levels()) {
    for (const Subject& subject : subjects) {
      const Kernel kernel = tutti::reduction::kernel(subject.operation, subject.type);
      std::printf("%-8s %-8s %8zu", level.name, subject.name, level.working_set_bytes >> 10);
      for (std::size_t source_count : {2, 3, 4, 8}) {
        Arrays arrays(source_count + 1, level.working_set_bytes / (source_count + 1) / 64 * 64);
        const std::size_t elements = arrays.bytes() / tutti::reduction::size_of(subject.type);
        const auto result = measure({kernel_subject(kernel, arrays, source_count, elements)});
        std::printf(" %s", bandwidth(result[0], (source_count + 1) * arrays.bytes()).c_str());
      }
      Arrays arrays(2, level.working_set_bytes / 2);
      std::printf(" %s\n", bandwidth(measure({memcpy_subject(arrays)})[0], 2 * arrays.bytes()).c_str());
    }
  }
}

template <class T>
void print_against_plain_loop(const char* name, Type type) {
  const Kernel kernel = tutti::reduction::kernel(Operator::sum, type);
  for (const Level& level : levels()) {
    Arrays arrays(3, level.working_set_bytes / 3 / 64 * 64);
    const auto result =
        measure({kernel_subject(kernel, arrays, 2, arrays.bytes() / sizeof(T)), plain_subject<T>(arrays)});
    std::printf("%-8s %-8s %s %s %9.2f\n", level.name, name, bandwidth(result[0], 3 * arrays.bytes()).c_str(),
                bandwidth(result[1], 3 * arrays.bytes()).c_str(), result[1].median_seconds / result[0].median_seconds);
  }
}

void print_small_counts() {
  std::printf("\nns a call, sum of f64\n%-9s %10s %10s %10s %10s\n", "elements", "2 sources", "3", "4", "8");
  const Kernel kernel = tutti::reduction::kernel(Operator::sum, Type::f64);
  for (std::size_t count : {1, 2, 3, 4, 7, 8, 16, 64}) {
    std::printf("%-9zu", count);
    for (std::size_t source_count : {2, 3, 4, 8}) {
      Arrays arrays(source_count + 1, count * sizeof(double));
      std::printf(" %10.2f", 1e9 * measure({kernel_subject(kernel, arrays, source_count, count)})[0].median_seconds);
    }
    std::printf("\n");
  }
}

void print_small_copies() {
  std::printf("\nns a call, copying\n%-9s %10s %10s\n", "bytes", "copy", "memcpy");
  for (std::size_t bytes : {1, 4, 8, 16, 24, 32, 64, 128, 256}) {
    Arrays arrays(2, bytes);
    auto in_line = [&arrays](long repetitions) {
      for (long i = 0; i < repetitions; ++i) {
        std::size_t length = arrays.bytes();
        asm volatile("" : "+r"(length));  // the compiler must not know it
        tutti::reduction::copy(arrays.destination(), arrays.sources()[0], length);
        keep_memory();
      }
    };
    const auto result = measure({in_line, memcpy_subject(arrays)});
    std::printf("%-9zu %10.2f %10.2f\n", bytes, 1e9 * result[0].median_seconds, 1e9 * result[1].median_seconds);
  }
}

}  // namespace

int main() {
  print_bandwidths();
  std::printf("\nGB/s, sum of 2 sources\n%-8s %-8s %16s %16s %9s\n", "level", "type", "kernel", "plain loop", "ratio");
  print_against_plain_loop<double>("f64", Type::f64);
  print_against_plain_loop<float>("f32", Type::f32);
  print_small_counts();
  print_small_copies();
}
