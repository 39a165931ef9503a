#include "mpi/hardware/split_request.h"

#include <array>

#include "mpi/start/node_ranks.h"
#include "topology/resources.h"
#include "tutti.h"

namespace tutti::mpi::hardware {

namespace {

enum class Guide { none, guided, unguided, resource };

/// The numbers are those of the ABI, also where the header that this was compiled with does not have them.
Guide guide_of(int type) {
  switch (type) {
    case TUTTI_COMM_TYPE_HW_GUIDED:
      return Guide::guided;
    case TUTTI_COMM_TYPE_HW_UNGUIDED:
      return Guide::unguided;
    case TUTTI_COMM_TYPE_RESOURCE_GUIDED:
      return Guide::resource;
    default:
      break;
  }
#if defined(OPEN_MPI)
  constexpr int unguided = 12, guided = 13;
#elif defined(MPI_ABI)
  constexpr int unguided = 222, guided = 223, resource = 224;
#else
  constexpr int guided = 2, unguided = 3, resource = 4;
#endif
  if (type == guided) return Guide::guided;
  if (type == unguided) return Guide::unguided;
#if !defined(OPEN_MPI)
  // MPICH 4.0 has another type of this number; it does not have this function yet.
  if (type == resource && next.Get_hw_resource_info.is_there()) return Guide::resource;
#endif
  return Guide::none;
}

/// Empty if there is no such key, or nothing behind it.
std::string value_of(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) return "";
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int found = 0;
  if (host.Info_get(info, key, MPI_MAX_INFO_VAL, text.data(), &found) != MPI_SUCCESS || !found) return "";
  return text.data();
}

SplitRequest by_resource(const std::string& value) {
  using Kind = topology::AskedResource::Kind;
  topology::AskedResource asked = topology::parse_resource(value);
  const SplitKind kind = asked.kind == Kind::node   ? SplitKind::node
                         : asked.kind == Kind::type ? SplitKind::type
                                                    : SplitKind::nothing;
  return {kind, std::move(asked.type), value};
}

}  // namespace

SplitRequest split_request(int split_type, MPI_Info info) {
  if (split_type == MPI_UNDEFINED) return {SplitKind::undefined, "", ""};
  const Guide guide = guide_of(split_type);
  if (guide == Guide::none) return {SplitKind::host, "", ""};
  if (guide == Guide::unguided) return {SplitKind::unguided, "", ""};
  const std::string resource = value_of(info, "mpi_hw_resource_type");
  if (guide == Guide::resource && resource.empty()) {
    const std::string set = value_of(info, "mpi_pset_name");
    return {set.empty() ? SplitKind::nothing : SplitKind::process_set, set, set};
  }
  return by_resource(resource);
}

SplitCard card_of(int split_type, const SplitRequest& request) {
  return {split_type, request.kind, hash_of(request.value)};
}

bool agree(const std::vector<SplitCard>& cards, SplitKind& kind) {
  kind = SplitKind::undefined;
  const SplitCard* first = nullptr;
  for (const SplitCard& card : cards) {
    if (card.kind == SplitKind::undefined) continue;
    if (!first) {
      first = &card;
      kind = card.kind;
    } else if (card.type != first->type) {
      return false;
    } else if (card.kind != first->kind || card.value != first->value) {
      kind = SplitKind::nothing;
    }
  }
  return true;
}

}  // namespace tutti::mpi::hardware
