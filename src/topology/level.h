// The levels of a machine that can group ranks, and the user's way to name them ("numa+socket").
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::topology {

/// What the members of a group share. The order is the usual one from the inside out.
enum class LevelKind { l2, l3, numa, socket };

inline constexpr std::size_t level_kind_count = 4;
inline constexpr std::array<LevelKind, level_kind_count> all_level_kinds{LevelKind::l2, LevelKind::l3, LevelKind::numa,
                                                                         LevelKind::socket};

/// One small number per level kind, e.g. the domain a processing unit lies in; -1: none.
using Domains = std::array<int, level_kind_count>;

constexpr std::size_t index_of(LevelKind kind) {
  return static_cast<std::size_t>(kind);
}

/// "l2", "l3", "numa" or "socket".
std::string_view name_of(LevelKind kind);

/// What TUTTI_HIERARCHY asks for.
struct LevelSpec {
  bool automatic = false;        ///< "auto": whatever splits the ranks; `kinds` is empty then
  std::vector<LevelKind> kinds;  ///< without repetitions, in the user's order; empty and not automatic: flat
  int widest = 0;                ///< groups of more members are cut; 0: none is, or as is usual if automatic
};

/// Bounds of what may be asked for as the widest group.
inline constexpr int widest_least = 2, widest_most = 4096;

/// Parses "auto", "flat", or level names joined by "+" (XHC, section III.A, calls this the sensitivity), among them at
/// most one number: of members of the widest group.
/// Case and blanks around names do not matter. On failure nothing is returned, and `error` says what was
/// wrong and the nearest right name.
std::optional<LevelSpec> parse_levels(std::string_view text, std::string& error);

/// The text that parse_levels reads back: "auto", "flat" or "numa+socket+16".
std::string to_string(const LevelSpec& spec);

}  // namespace tutti::topology
