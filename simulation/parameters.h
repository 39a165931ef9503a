// What the model's parameters (selection/model.h, out of a probe file) do not tell of a machine and the time driver needs.
// The one place where they stand. The values are about those that were found on three machines (simulation/validate --fit);
// those of messages are a guess, of a core that posts one in a quarter of a microsecond. Two hardware threads of a core do
// 1.3 times as much as one (D. Marr et al., Hyper-Threading Technology Architecture and Microarchitecture, Intel Technology
// Journal 6(1), 2002: up to that). The section "simulation" of a machine's file may say otherwise. Seconds, bytes, and hops
// of the model.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "selection/model.h"

namespace tutti::simulated {

struct Parameters {
  // A core.
  double clock = 20e-9;       ///< s the benchmark takes to read the clock, before a call and after it
  double call = 25e-9;        ///< s a call, before the first access: arguments, types and the choice looked up
  double step = 2e-9;         ///< s a load or store of a word that is in the own cache
  double copy_start = 10e-9;  ///< s a copy or a combination, however short
  double frame = 40e-9;       ///< s an operation that is not straight: frames of coroutines
  double fill_byte = 2e-11;   ///< s a byte that the program writes, in the own cache
  double use_byte = 5e-11;    ///< s a byte that the program uses, in the own cache
  double pending = 2048;      ///< bytes of stores that a core has under way before it waits for them
  double thread = 0.77;       ///< of a core's time, what a copy or combination of one of its hardware threads takes

  // Lines. A hop is a store, which takes the line from those that have it, and a load after it.
  double of_store = 0.4;      ///< the part of a hop that the store takes
  double next_store = 0.4;    ///< hops: the same of a further line, while the one before is under way
  double of_foreign = 0.9;    ///< hops: of a copy's first line that is another core's
  double next_look = 0.1;     ///< hops: from one line that is asked for to the next
  double next_reader = 0.15;  ///< hops: from one reader of a line to the next
  double combine = 1;         ///< a byte of another core's that is combined, in prices of one that is copied
  double overlap =
      0.4;  ///< of a copy whose source and destination both have to come, the part of the quicker that adds up

  // Caches. 0: by the model's.
  double l3_byte = 0;      ///< s a byte of a copy of what has left another core's private cache for one that both share
  double l3_bytes = 0;     ///< bytes of one; 0: no limit but shared_cache
  double writeback = 0.5;  ///< part of memory_byte that a store to what is in nobody's cache takes more

  // Network: see network::Parameters for start, byte and rate of a node.
  double message = 250e-9;  ///< s a message costs its sender's core, and its receiver's
  double card = 2.5e-8;     ///< s until a rank's next message can leave
};

struct ParameterField {
  const char* name;
  double Parameters::*member;
  const char* unit;
  const char* meaning;
};
std::span<const ParameterField> parameter_fields();

/// Those that the section has take the place of what is there; of the model's, too, where a probe does not tell what the
/// machine does. Throws std::runtime_error with the name of one that there is not, or is no number.
void read(const nlohmann::json& section, selection::Model& model, Parameters& parameters);

}  // namespace tutti::simulated
