#include "mpi/arguments/type_contents.h"

namespace tutti::mpi {

namespace {

/// Types that stand for a kind of Fortran's have a constructor, and yet are predefined.
bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

struct Envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

/// Whoever asks a host in the old way for a type with an MPI_Count among its arguments has made a mistake.
bool ask(MPI_Datatype datatype, Envelope& of) {
  if (host.Type_get_envelope_c)
    return host.Type_get_envelope_c(datatype, &of.integers, &of.addresses, &of.counts, &of.types, &of.combiner) ==
           MPI_SUCCESS;
  int integers = 0, addresses = 0, types = 0;
  if (host.Type_get_envelope(datatype, &integers, &addresses, &types, &of.combiner) != MPI_SUCCESS) return false;
  of.integers = integers;
  of.addresses = addresses;
  of.types = types;
  return true;
}

}  // namespace

TypeContents::TypeContents(MPI_Datatype datatype) {
  Envelope of;
  if (!ask(datatype, of) || is_predefined(of.combiner)) return;
  const auto room = [](MPI_Count count) { return static_cast<std::size_t>(count) + 1; };
  std::vector<int> integers(room(of.integers));
  std::vector<MPI_Count> counts(room(of.counts));
  displacements_.resize(room(of.addresses));
  types_.resize(static_cast<std::size_t>(of.types));
  const int code =
      host.Type_get_envelope_c
          ? host.Type_get_contents_c(datatype, of.integers, of.addresses, of.counts, of.types, integers.data(),
                                     displacements_.data(), counts.data(), types_.data())
          : host.Type_get_contents(datatype, static_cast<int>(of.integers), static_cast<int>(of.addresses),
                                   static_cast<int>(of.types), integers.data(), displacements_.data(), types_.data());
  if (code != MPI_SUCCESS) {
    types_.clear();
    return;
  }
  combiner_ = of.combiner;
  if (of.counts == 0)
    numbers_.assign(integers.begin(), integers.end());
  else
    sort(integers, counts);
}

/// As they come without an MPI_Count among them.
void TypeContents::sort(const std::vector<int>& integers, const std::vector<MPI_Count>& counts) {
  numbers_.assign(counts.begin(), counts.end());
  const auto first = static_cast<std::size_t>(counts[0]);
  std::size_t lengths = numbers_.size() - 1;  // before the displacements
  switch (combiner_) {
    case MPI_COMBINER_SUBARRAY:
      numbers_.insert(numbers_.begin(), integers[0]);
      numbers_[numbers_.size() - 1] = integers[1];
      return;
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:
      lengths = 2;
      break;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      lengths = 1 + first;
      break;
    case MPI_COMBINER_RESIZED:
      lengths = 0;
      break;
    default:
      return;
  }
  displacements_.assign(numbers_.begin() + static_cast<std::ptrdiff_t>(lengths), numbers_.end());
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& each : types_) {
    Envelope of;
    if (ask(each, of) && !is_predefined(of.combiner)) host.Type_free(&each);
  }
}

}  // namespace tutti::mpi
