// Types and operators of the program that calls under way go on using. Programs may free them meanwhile: then the host is
// asked to once the last of these calls is over.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/arguments/recent.h"
#include "mpi/host.h"

namespace tutti::mpi {

/// One call keeps it.
void keep_handle(std::uintptr_t type_or_operation);
/// It does so no more. True if the program had freed it and nobody keeps it any more: then it is to be freed.
bool let_handle_go(std::uintptr_t type_or_operation);
/// The program frees it. True if some call keeps it: then that is done later.
bool free_later(std::uintptr_t type_or_operation);

/// Those that one call keeps.
class KeptHandles {
 public:
  KeptHandles() = default;
  KeptHandles(const KeptHandles&) = delete;
  KeptHandles& operator=(const KeptHandles&) = delete;
  ~KeptHandles() { give_back(); }

  void keep_type(MPI_Datatype datatype) { keep(types_, datatype); }
  void keep_operator(MPI_Op operation) { keep(operators_, operation); }
  void give_back() {
    give_back(types_, host.Type_free);
    give_back(operators_, host.Op_free);
  }

 private:
  template <class Handle>
  static void keep(std::vector<Handle>& handles, Handle handle) {
    if (!handles.empty() && handles.back() == handle) return;
    keep_handle(key_of(handle));
    handles.push_back(handle);
  }
  template <class Handle, class Free>
  static void give_back(std::vector<Handle>& handles, const Free& free) {
    for (Handle& handle : handles)
      if (let_handle_go(key_of(handle))) free(&handle);
    handles.clear();
  }

  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Op> operators_;
};

}  // namespace tutti::mpi
