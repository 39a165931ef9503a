// By which seeds ranks run in tests, and how what was found is repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulated/explorer.h"

namespace tutti::simulated {

/// The runs that follow are those of this seed: they repeat what followed when it was set before.
void set_seed(std::uint64_t seed);
/// From now on who crashes says by which seed.
void tell_seed_of_crashes();
/// TUTTI_SEED: the one that is to be repeated.
std::optional<std::uint64_t> asked_seed();
/// The seeds of a test that has so many, or the one that is to be repeated. Each repetition (--gtest_repeat) has other
/// ones.
std::vector<std::uint64_t> seeds(std::uint64_t count);
/// Which repetition it is.
void set_repetition(int repetition);

/// Runs `body(rank)` for all ranks, in an order that follows from the seed. What it throws tells how to repeat it; so
/// does a line after a failure of the test.
void run_by_seed(int ranks, const std::function<void(int)>& body);

/// Of all runs.
struct Totals {
  std::uint64_t runs = 0, schedules = 0, steps = 0, switches = 0;
};
const Totals& totals();

}  // namespace tutti::simulated
