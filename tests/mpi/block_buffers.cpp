#include "block_buffers.h"

#include <dlfcn.h>

#include <cstring>

namespace tutti::tests {

BlockTypes::BlockTypes() {
  constexpr int bytes = sizeof(int);
  MPI_Datatype pair = MPI_DATATYPE_NULL, vector = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL,
               backwards = MPI_DATATYPE_NULL, negative = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, 4 * bytes, &resized);
  MPI_Type_free(&vector);
  const int places[2] = {1, 0};
  MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &backwards);
  MPI_Type_create_resized(MPI_INT, -bytes, 3 * bytes, &negative);
  for (MPI_Datatype* type : {&pair, &resized, &backwards, &negative}) MPI_Type_commit(type);
  kinds_ = {{"int", MPI_INT, 1, 1, {0, 0}},
            {"pair", pair, 2, 2, {0, 1}},
            {"vector", resized, 2, 4, {0, 2}},
            {"backwards", backwards, 2, 2, {1, 0}},
            {"negative lower bound", negative, 1, 3, {0, 0}}};
}

BlockTypes::~BlockTypes() {
  for (Kind& kind : kinds_)
    if (kind.type != MPI_INT) MPI_Type_free(&kind.type);
}

namespace {

constexpr int margin = 4;

void add_block(BlockBuffer& buffer, std::size_t b, int& at, int gap) {
  const BlockTypes::Kind& kind = *buffer.kinds[b];
  // On a multiple of the extent, so that it can be said in extents too.
  at = (at + kind.extent_ints - 1) / kind.extent_ints * kind.extent_ints;
  buffer.displacements[b] = at / kind.extent_ints;
  buffer.byte_places[b] = static_cast<MPI_Aint>(at) * static_cast<MPI_Aint>(sizeof(int));
  at += (buffer.counts[b] + gap) * kind.extent_ints;
}

void resize(BlockBuffer& buffer, std::size_t blocks) {
  // Lists of nothing are no null pointers either.
  buffer.counts.reserve(blocks + 1);
  buffer.displacements.reserve(blocks + 1);
  buffer.byte_places.reserve(blocks + 1);
  buffer.counts.resize(blocks);
  buffer.displacements.resize(blocks);
  buffer.byte_places.resize(blocks);
}

}  // namespace

BlockBuffer BlockBuffer::regular(const BlockTypes::Kind& kind, int blocks, int ints) {
  BlockBuffer buffer;
  buffer.kinds.assign(static_cast<std::size_t>(blocks), &kind);
  if (blocks == 0) buffer.kinds.push_back(&kind);
  resize(buffer, static_cast<std::size_t>(blocks));
  int at = 0;
  for (std::size_t b = 0; b < buffer.counts.size(); ++b) {
    buffer.counts[b] = ints / kind.ints;
    add_block(buffer, b, at, 0);
  }
  buffer.first = margin;
  buffer.memory.resize(static_cast<std::size_t>(at + 2 * margin));
  return buffer;
}

BlockBuffer BlockBuffer::irregular(const std::vector<const BlockTypes::Kind*>& kinds, const std::vector<int>& ints) {
  BlockBuffer buffer;
  buffer.kinds = kinds;
  resize(buffer, ints.size());
  int at = 0;
  for (std::size_t b = ints.size(); b-- > 0;) {
    buffer.counts[b] = ints[b] / kinds[b]->ints;
    add_block(buffer, b, at, 1);
  }
  buffer.first = margin;
  buffer.memory.resize(static_cast<std::size_t>(at + 2 * margin));
  return buffer;
}

void BlockBuffer::fill(int salt) {
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i) * 13 + salt * 100'003;
}

int& BlockBuffer::value(std::size_t b, int i) {
  const BlockTypes::Kind& kind = *kinds[b];
  const int element = i / kind.ints;
  const auto block = static_cast<int>(byte_places[b] / static_cast<MPI_Aint>(sizeof(int)));
  return memory[static_cast<std::size_t>(first + block + element * kind.extent_ints + kind.places[i % kind.ints])];
}

std::vector<MPI_Datatype> BlockBuffer::types() const {
  std::vector<MPI_Datatype> types;
  types.reserve(kinds.size() + 1);
  for (const auto* kind : kinds) types.push_back(kind->type);
  return types;
}

std::vector<int> BlockBuffer::byte_displacements() const {
  return {byte_places.begin(), byte_places.end()};
}

namespace {

using LastChoice = int (*)(char*, int, char*, int);

LastChoice last_choice() {
  void* address = dlsym(RTLD_DEFAULT, "tutti_last_choice");
  LastChoice function = nullptr;
  std::memcpy(&function, &address, sizeof function);
  return function;
}

}  // namespace

bool last_was_ours() {
  const LastChoice function = last_choice();
  if (!function) return false;
  char algorithm[64] = "";
  function(algorithm, sizeof algorithm, nullptr, 0);
  return algorithm[0] && std::strcmp(algorithm, "host") != 0;
}

std::vector<int> block_sizes(bool few) {
  return few ? std::vector<int>{4, 400, 20'000} : std::vector<int>{4, 16, 40, 400, 4'000, 20'000, 100'000};
}

}  // namespace tutti::tests
