#include "topology/machine.h"

#include <algorithm>

namespace tutti::topology {

namespace {

// Format of the serialised form; changes whenever the fields do.
constexpr std::uint8_t format_version = 1;
// No machine has more; keeps a damaged length from asking for all memory.
constexpr std::uint64_t max_units = 1 << 20;

/// Numbers of seven bits a byte, lowest first, so that the small ids of a machine take one byte each.
class Writer {
 public:
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  /// -1 is common (no such level): it becomes 0.
  void put_id(int id) { put(static_cast<std::uint64_t>(std::int64_t{id} + 1)); }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t get() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (next_ == bytes_.size()) break;
      const std::uint8_t byte = bytes_[next_++];
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    good_ = false;
    return 0;
  }
  int get_id() {
    const std::uint64_t value = get();
    if (value > max_units) good_ = false;
    return good_ ? static_cast<int>(value) - 1 : -1;
  }
  bool good() const { return good_; }
  bool at_end() const { return next_ == bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
  bool good_ = true;
};

}  // namespace

void Machine::index_units() {
  int highest = -1;
  for (const ProcessingUnit& unit : units_) highest = std::max(highest, unit.os_index);
  position_of_os_index_.assign(static_cast<std::size_t>(std::int64_t{highest} + 1), -1);
  core_count_ = 0;
  domain_counts_ = {0, 0, 0, 0};
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const ProcessingUnit& unit = units_[i];
    if (unit.os_index >= 0) position_of_os_index_[static_cast<std::size_t>(unit.os_index)] = static_cast<int>(i);
    core_count_ = std::max(core_count_, unit.core + 1);
    for (std::size_t kind = 0; kind < level_kind_count; ++kind)
      domain_counts_[kind] = std::max(domain_counts_[kind], unit.domain[kind] + 1);
  }
}

int Machine::find(int os_index) const {
  if (os_index < 0 || static_cast<std::size_t>(os_index) >= position_of_os_index_.size()) return -1;
  return position_of_os_index_[static_cast<std::size_t>(os_index)];
}

std::vector<std::uint8_t> Machine::serialise() const {
  Writer writer;
  writer.put(format_version);
  writer.put(is_this_machine_ ? 1 : 0);
  writer.put(l2_bytes_);
  writer.put(l3_bytes_);
  writer.put(units_.size());
  for (const ProcessingUnit& unit : units_) {
    writer.put_id(unit.os_index);
    writer.put_id(unit.core);
    for (const int domain : unit.domain) writer.put_id(domain);
  }
  return writer.take();
}

std::optional<Machine> Machine::deserialise(std::span<const std::uint8_t> bytes) {
  Reader reader(bytes);
  if (reader.get() != format_version) return std::nullopt;
  Machine machine;
  machine.is_this_machine_ = reader.get() == 1;
  machine.l2_bytes_ = reader.get();
  machine.l3_bytes_ = reader.get();
  const std::uint64_t count = reader.get();
  if (count > max_units) return std::nullopt;
  for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
    ProcessingUnit unit;
    unit.os_index = reader.get_id();
    unit.core = reader.get_id();
    for (int& domain : unit.domain) domain = reader.get_id();
    machine.units_.push_back(unit);
  }
  if (!reader.good() || !reader.at_end()) return std::nullopt;
  machine.index_units();
  return machine;
}

}  // namespace tutti::topology
