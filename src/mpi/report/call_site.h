// Where the program calls MPI: in its own code, also if that is Fortran or Python, which come here through bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tutti::mpi {

/// A place in a program, or in a library that it uses.
struct CallSite {
  /// Of machine code: where the instruction after a call is. Bytes from where the module was loaded, as its symbols count.
  struct Frame {
    std::string module;  ///< path
    std::uint64_t offset = 0;
    std::string symbol;  ///< as the loader knows it, demangled; empty: unknown
  };
  std::vector<std::string> python;  ///< "file:line function", innermost first; empty where no Python was under way
  std::vector<Frame> frames;        ///< innermost first, as it was when the site was seen first
};

/// All that were seen. Not for several threads at once.
class CallSites {
 public:
  /// The number of the site. return_address: of the function of MPI that was called. above: the frame of who asks, below
  /// what is under way. The same place is the same number, whatever led there.
  std::uint32_t of(const void* return_address, const void* above);
  const std::vector<CallSite>& all() const { return sites_; }

 private:
  /// What is known of an address to which a function of MPI returns.
  struct Known {
    bool is_binding = false;    ///< of Fortran, in a library of the MPI
    std::size_t distance = 0;   ///< of a binding: words from `above` to the program's own address; 0: unknown
    std::uint32_t site = none;  ///< of what is no binding
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t in_program(const void* return_address);
  std::uint32_t through_binding(Known& binding, const void* return_address, const void* above);
  std::uint32_t in_python(const void* return_address);
  std::uint32_t add(CallSite&& site);

  std::unordered_map<const void*, Known> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> lines_of_python_;
  std::vector<CallSite> sites_;
};

}  // namespace tutti::mpi
