// What a rank has let its peers attach, as it stands in its arena: a table of extents of pages, which the owner alone
// writes. An extent goes from the table before its memory is unmapped or loses its contents, so that an attachment
// that was made for it is never taken for the memory that comes to the same address later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "memory/region.h"
#include "sync/flag.h"

namespace tutti::memory {

/// In the owner's arena; zero-initialised memory is an empty table.
struct alignas(sync::line_bytes) ExposureTable {
  static constexpr std::size_t rows = 256;  // a Region has 8 bits for a row
  /// An extent as a reader saw it. One row and one version are one extent, for ever.
  struct Extent {
    std::uint64_t version = 0;
    std::uint64_t begin = 0, end = 0;
    bool holds(std::uint64_t address, std::size_t bytes) const {
      return begin <= address && address < end && bytes <= end - address;
    }
  };
  struct Row {
    sync::Word<std::uint64_t> version;  ///< odd while the owner changes the row
    sync::Word<std::uint64_t> begin, end;
  };

  sync::Word<std::uint64_t> changes;  ///< grows after each change of a row
  std::array<Row, rows> row;

  /// The extent of a row; empty (begin == end) if there is none, or if it is being changed.
  Extent read(std::size_t index) const;
  /// Whether the row still holds what `read` returned.
  bool still(std::size_t index, std::uint64_t version) const {
    return row[index].version.load(std::memory_order_acquire) == version;
  }
};

/// The owner's side. Any thread may call it.
class Exposures {
 public:
  explicit Exposures(ExposureTable& table) : table_(table) {}

  /// The region by which peers attach `bytes` bytes at `address`: the pages around them are in the table from now on.
  /// Kind none if the address does not fit into a region.
  Region expose(const void* address, std::size_t bytes);

  /// To be called before memory is unmapped, remapped, or loses its contents. Allocates nothing.
  void unmapped(const void* address, std::size_t bytes) noexcept;
  /// The same for all memory.
  void unmapped_all() noexcept;

  /// Extents that are in the table now.
  std::size_t count() const noexcept;

 private:
  struct Own {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t used = 0;  ///< when it was last exposed
  };
  void write(std::size_t row, std::uint64_t begin, std::uint64_t end) noexcept;

  ExposureTable& table_;
  mutable std::mutex mutex_;
  std::array<Own, ExposureTable::rows> own_{};
  std::size_t used_rows_ = 0;  ///< rows from here on were never used
  std::uint64_t uses_ = 0;
  std::size_t last_row_ = 0;
};

}  // namespace tutti::memory
