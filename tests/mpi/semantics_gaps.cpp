// What programs keep between the members of an element stays there, whoever stores the result.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "semantics.h"

namespace tutti::tests {

namespace {

/// A type with gaps, and an operator on it. Its bytes: 'x' belongs to a member, '.' to a gap, '?' to a member whose
/// padding hosts may copy.
struct Gapped {
  std::string name;
  MPI_Datatype type;
  MPI_Op operation;
  std::string bytes;
  std::size_t ints;  ///< where an int is; before it are what `value` writes
  void (*value)(unsigned char* element, int number);

  std::size_t size() const { return bytes.size(); }
};

/// Of an x87 number 10 bytes are stored as 16; other processors' have no padding.
constexpr bool kPadded = std::numeric_limits<long double>::digits == 64;

template <class Value>
void write_value(unsigned char* element, int number) {
  const auto value = static_cast<Value>(number);
  // Not the padding of a long double.
  std::memcpy(element, &value, kPadded ? std::min<std::size_t>(sizeof value, 10) : sizeof value);
}

/// Three numbers of which the program has named two.
struct Item {
  double sum;
  int most;
  int mine;
};
/// The sum and the largest; does not look at the third.
void combine_items(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const Item& left = static_cast<const Item*>(in)[i];
    Item& right = static_cast<Item*>(inout)[i];
    right.sum += left.sum;
    right.most = std::max(left.most, right.most);
  }
}
/// The same on a type whose gap is in front of the second member, and behind it.
struct Spread {
  int sum;
  int mine;
  int most;
  int other;
};
void combine_spread(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const Spread& left = static_cast<const Spread*>(in)[i];
    Spread& right = static_cast<Spread*>(inout)[i];
    right.sum += left.sum;
    right.most = std::max(left.most, right.most);
  }
}

/// The predefined pairs and types of the program's own; frees the latter.
class GappedTypes {
 public:
  GappedTypes() {
    add_pairs();
    MPI_Op_create(&combine_items, 1, &items_);
    MPI_Op_create(&combine_spread, 1, &spreads_);
    add_own("struct with a gap at its end", item(), items_, "xxxxxxxxxxxx....", offsetof(Item, most),
            &write_value<double>);
    add_own("resized struct", resized(), items_, "xxxxxxxxxxxx............", offsetof(Item, most),
            &write_value<double>);
    add_own("vector of ints", vector(), spreads_, "xxxx....xxxx....", offsetof(Spread, most), &write_value<int>);
    // An operator of the program on a pair that MPI knows.
    all_.push_back(
        {"MPI_DOUBLE_INT, user operation", MPI_DOUBLE_INT, items_, "xxxxxxxxxxxx....", 8, &write_value<double>});
  }
  ~GappedTypes() {
    for (MPI_Datatype& type : own_) MPI_Type_free(&type);
    MPI_Op_free(&items_);
    MPI_Op_free(&spreads_);
  }
  GappedTypes(const GappedTypes&) = delete;
  GappedTypes& operator=(const GappedTypes&) = delete;
  const std::vector<Gapped>& all() const { return all_; }

 private:
  void add_pairs() {
    const auto add = [&](const char* name, MPI_Datatype type, const char* bytes, std::size_t ints,
                         void (*value)(unsigned char*, int)) {
      all_.push_back({name, type, MPI_MAXLOC, bytes, ints, value});
    };
    add("MPI_DOUBLE_INT", MPI_DOUBLE_INT, "xxxxxxxxxxxx....", 8, &write_value<double>);
    add("MPI_LONG_INT", MPI_LONG_INT, "xxxxxxxxxxxx....", 8, &write_value<long>);
    add("MPI_SHORT_INT", MPI_SHORT_INT, "xx..xxxx", 4, &write_value<short>);
    add("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT,
        kPadded ? "xxxxxxxxxx??????xxxx............" : "xxxxxxxxxxxxxxxxxxxx............", 16,
        &write_value<long double>);
    all_.push_back(
        {"MPI_DOUBLE_INT, the least", MPI_DOUBLE_INT, MPI_MINLOC, "xxxxxxxxxxxx....", 8, &write_value<double>});
  }
  void add_own(const char* name, MPI_Datatype type, MPI_Op operation, const char* bytes, std::size_t ints,
               void (*value)(unsigned char*, int)) {
    MPI_Type_commit(&type);
    own_.push_back(type);
    all_.push_back({name, type, operation, bytes, ints, value});
  }
  static MPI_Datatype item() {
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {offsetof(Item, sum), offsetof(Item, most)};
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, places, types, &type);
    return type;
  }
  static MPI_Datatype resized() {
    // Its elements are not those that combine_items() knows: it is only moved.
    MPI_Datatype inner = item();
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(inner, 0, 24, &type);
    MPI_Type_free(&inner);
    return type;
  }
  static MPI_Datatype vector() {
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, sizeof(Spread), &type);
    MPI_Type_free(&inner);
    return type;
  }

  std::vector<Gapped> all_;
  std::vector<MPI_Datatype> own_;
  MPI_Op items_ = MPI_OP_NULL;
  MPI_Op spreads_ = MPI_OP_NULL;
};

/// Elements of a rank, and something of its own in the gaps.
struct Elements {
  Elements(const Gapped& type, std::size_t count, int rank, unsigned char gap)
      : bytes(count * type.size() + 1, gap), before(bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      unsigned char* const element = bytes.data() + i * type.size();
      type.value(element, static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 5) % 23));
      const int number = rank + static_cast<int>(i % 3);
      std::memcpy(element + type.ints, &number, sizeof number);
    }
    before = bytes;
  }
  void* data() { return bytes.data(); }
  std::vector<unsigned char> bytes, before;
};

/// Calls our function and the host's, on equal buffers.
class Comparison {
 public:
  Comparison(Context& context, const Gapped& type, int count) : context_(context), type_(type), count_(count) {}

  /// call(function_of_host, buffer). received: elements that the call may write, from the first of `elements` on.
  template <class Call>
  void run(const char* name, std::size_t elements, std::size_t received, Call&& call) const {
    Elements own(type_, elements, context_.rank() + 1, static_cast<unsigned char>(200 + context_.rank()));
    Elements host(type_, elements, context_.rank() + 1, static_cast<unsigned char>(200 + context_.rank()));
    call(true, host.data());
    call(false, own.data());
    for (std::size_t i = 0; i < own.bytes.size(); ++i) {
      const char kind = i < received * type_.size() ? type_.bytes[i % type_.size()] : '.';
      const unsigned char wanted = kind == 'x' ? host.bytes[i] : own.before[i];
      if (kind == '?' || own.bytes[i] == wanted) continue;
      context_.expect(false, "%s of %d elements of %s: byte %zu of element %zu is %d, not %d", name, count_,
                      type_.name.c_str(), i % type_.size(), i / type_.size(), own.bytes[i], wanted);
      return;
    }
    context_.expect(true, "%s", name);
  }

 private:
  Context& context_;
  const Gapped& type_;
  int count_;
};

#define EITHER(name) (by_host ? &PMPI_##name : &MPI_##name)

void reduce(Context& context, const Gapped& type, int count) {
  const int ranks = context.size();
  const int self = context.rank();
  const int root = ranks - 1;
  const auto n = static_cast<std::size_t>(count);
  const auto all = n * static_cast<std::size_t>(ranks);
  const Comparison compare(context, type, count);
  Elements send(type, all, self, static_cast<unsigned char>(100 + self));
  const MPI_Comm world = MPI_COMM_WORLD;
  compare.run("Allreduce", n, n, [&](bool by_host, void* to) {
    EITHER(Allreduce)(send.data(), to, count, type.type, type.operation, world);
  });
  compare.run("Allreduce in place", n, n, [&](bool by_host, void* to) {
    EITHER(Allreduce)(MPI_IN_PLACE, to, count, type.type, type.operation, world);
  });
  const std::size_t at_root = self == root ? n : 0;
  compare.run("Reduce", n, at_root, [&](bool by_host, void* to) {
    EITHER(Reduce)(send.data(), to, count, type.type, type.operation, root, world);
  });
  compare.run("Reduce in place", n, at_root, [&](bool by_host, void* to) {
    EITHER(Reduce)
    (self == root ? MPI_IN_PLACE : to, self == root ? to : nullptr, count, type.type, type.operation, root, world);
  });
  compare.run("Scan", n, n, [&](bool by_host, void* to) {
    EITHER(Scan)(send.data(), to, count, type.type, type.operation, world);
  });
  compare.run("Scan in place", n, n, [&](bool by_host, void* to) {
    EITHER(Scan)(MPI_IN_PLACE, to, count, type.type, type.operation, world);
  });
  const std::size_t after_first = self > 0 ? n : 0;
  compare.run("Exscan", n, after_first, [&](bool by_host, void* to) {
    EITHER(Exscan)(send.data(), to, count, type.type, type.operation, world);
  });
  compare.run("Exscan in place", n, after_first, [&](bool by_host, void* to) {
    EITHER(Exscan)(MPI_IN_PLACE, to, count, type.type, type.operation, world);
  });
  compare.run("Reduce_scatter_block", n, n, [&](bool by_host, void* to) {
    EITHER(Reduce_scatter_block)(send.data(), to, count, type.type, type.operation, world);
  });
  // In place MPI leaves open what becomes of the rest of the buffer.
  std::vector<int> counts(static_cast<std::size_t>(ranks), count);
  counts.front() = 0;
  const std::size_t own = self > 0 ? n : 0;
  compare.run("Reduce_scatter", n, own, [&](bool by_host, void* to) {
    EITHER(Reduce_scatter)(send.data(), to, counts.data(), type.type, type.operation, world);
  });
  compare.run("Reduce_local", n, n, [&](bool by_host, void* to) {
    EITHER(Reduce_local)(send.data(), to, count, type.type, type.operation);
  });
}

/// What MPI makes of block `block` of the elements that `rank` of move() sends, without sending it to another rank:
/// MPICH's own Gather and Scatter of such types fail in some ways of sending.
void copy_block(const Gapped& type, int count, int rank, int block, void* to) {
  const auto n = static_cast<std::size_t>(count);
  const auto skipped = static_cast<std::size_t>(block) * n;
  Elements sent(type, skipped + n, rank, static_cast<unsigned char>(100 + rank));
  PMPI_Sendrecv(sent.bytes.data() + skipped * type.size(), count, type.type, 0, 0, to, count, type.type, 0, 0,
                MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

void move(Context& context, const Gapped& type, int count) {
  const int ranks = context.size();
  const int self = context.rank();
  const int root = ranks - 1;
  const auto n = static_cast<std::size_t>(count);
  const auto all = n * static_cast<std::size_t>(ranks);
  const Comparison compare(context, type, count);
  Elements send(type, all, self, static_cast<unsigned char>(100 + self));
  const MPI_Comm world = MPI_COMM_WORLD;
  compare.run("Bcast", n, self == root ? 0 : n, [&](bool by_host, void* to) {
    EITHER(Bcast)(to, count, type.type, root, world);
  });
  const auto block_of = [&](void* to, int rank) {
    return static_cast<unsigned char*>(to) + static_cast<std::size_t>(rank) * n * type.size();
  };
  compare.run("Gather", all, self == root ? all : 0, [&](bool by_host, void* to) {
    if (!by_host) return void(MPI_Gather(send.data(), count, type.type, to, count, type.type, root, world));
    for (int rank = 0; rank < ranks; ++rank) copy_block(type, count, rank, 0, block_of(to, rank));
  });
  compare.run("Scatter", n, n, [&](bool by_host, void* to) {
    if (!by_host) return void(MPI_Scatter(send.data(), count, type.type, to, count, type.type, root, world));
    copy_block(type, count, root, self, to);
  });
  compare.run("Allgather", all, all, [&](bool by_host, void* to) {
    EITHER(Allgather)(send.data(), count, type.type, to, count, type.type, world);
  });
  compare.run("Allgather in place", all, all, [&](bool by_host, void* to) {
    EITHER(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, count, type.type, world);
  });
  compare.run("Alltoall", all, all, [&](bool by_host, void* to) {
    EITHER(Alltoall)(send.data(), count, type.type, to, count, type.type, world);
  });
  std::vector<int> counts(static_cast<std::size_t>(ranks), count);
  std::vector<int> places(counts.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i) * count;
  const std::vector<MPI_Datatype> types(counts.size(), type.type);
  std::vector<int> offsets(counts.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = places[i] * static_cast<int>(type.size());
  compare.run("Allgatherv", all, all, [&](bool by_host, void* to) {
    EITHER(Allgatherv)(send.data(), count, type.type, to, counts.data(), places.data(), type.type, world);
  });
  compare.run("Alltoallw", all, all, [&](bool by_host, void* to) {
    EITHER(Alltoallw)
    (send.data(), counts.data(), offsets.data(), types.data(), to, counts.data(), offsets.data(), types.data(), world);
  });
}

#undef EITHER

/// In the flag's line, through the slots, and from the buffers.
constexpr int kCounts[] = {1, 50, 6000};
constexpr int kMany = 60'000;

}  // namespace

void what_is_between_members_stays_in_reductions(Context& context) {
  const GappedTypes types;
  for (const Gapped& type : types.all())
    for (const int count : kCounts)
      if (type.name != "resized struct") reduce(context, type, count);
  reduce(context, types.all().front(), kMany);
}

void what_is_between_members_stays_where_blocks_arrive(Context& context) {
  const GappedTypes types;
  for (const Gapped& type : types.all())
    for (const int count : kCounts)
      if (type.operation != MPI_MINLOC) move(context, type, count);
}

void the_padding_of_long_doubles_stays_where_hosts_leave_it(Context& context) {
  if (!kPadded) return;
  // What they send takes its padding along, and so do most reductions; not those that combine in the program's memory.
  const Gapped number{"MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, MPI_SUM, "xxxxxxxxxx......", 10, &write_value<long double>};
  for (const int count : kCounts) {
    const auto n = static_cast<std::size_t>(count);
    const Comparison compare(context, number, count);
    Elements send(number, n, context.rank(), 9);
    compare.run("Scan in place", n, n, [&](bool by_host, void* to) {
      (by_host ? &PMPI_Scan : &MPI_Scan)(MPI_IN_PLACE, to, count, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    });
    compare.run("Reduce_local", n, n, [&](bool by_host, void* to) {
      (by_host ? &PMPI_Reduce_local : &MPI_Reduce_local)(send.data(), to, count, MPI_LONG_DOUBLE, MPI_SUM);
    });
  }
}

}  // namespace tutti::tests
