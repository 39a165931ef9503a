#include "simulation/parameters.h"

#include <stdexcept>

#include "selection/machine.h"

namespace tutti::simulated {

std::span<const ParameterField> parameter_fields() {
  static constexpr ParameterField fields[] = {
      {"clock", &Parameters::clock, "s", "the benchmark reads the clock, before a call and after it"},
      {"call", &Parameters::call, "s", "a call, before it looks at anything that ranks share"},
      {"step", &Parameters::step, "s", "a load or store of a word in the own cache"},
      {"copy_start", &Parameters::copy_start, "s", "a copy or a combination, however short"},
      {"frame", &Parameters::frame, "s", "a call that is not straight: frames of coroutines"},
      {"fill_byte", &Parameters::fill_byte, "s/B", "the program writes what its cache has"},
      {"use_byte", &Parameters::use_byte, "s/B", "the program uses what its cache has"},
      {"pending", &Parameters::pending, "B", "stores that a core has under way before it waits for them"},
      {"thread", &Parameters::thread, "", "of a core's time, what a copy of one of its hardware threads takes"},
      {"of_store", &Parameters::of_store, "hops", "the part of a hop that the store takes"},
      {"next_store", &Parameters::next_store, "hops", "a store while the one before is under way"},
      {"of_foreign", &Parameters::of_foreign, "hops", "a copy's first line that is another core's"},
      {"next_look", &Parameters::next_look, "hops", "from one line that is asked for to the next"},
      {"next_reader", &Parameters::next_reader, "hops", "from one reader of a line to the next"},
      {"combine", &Parameters::combine, "",
       "a byte of another core's that is combined, in prices of one that is copied"},
      {"overlap", &Parameters::overlap, "",
       "of source and destination that both have to come, the quicker's part that adds"},
      {"l3_byte", &Parameters::l3_byte, "s/B",
       "a copy of what has left another core's own cache for a common one; 0: spilled_byte"},
      {"l3_bytes", &Parameters::l3_bytes, "B", "a cache that cores share; 0: shared_cache, by their number"},
      {"writeback", &Parameters::writeback, "", "part of memory_byte that a store to what no cache has takes more"},
      {"message", &Parameters::message, "s", "a message costs the core of its sender, and of its receiver"},
      {"card", &Parameters::card, "s", "until the next message of a rank can leave"},
  };
  return fields;
}

void read(const nlohmann::json& section, selection::Model& model, Parameters& parameters) {
  for (const auto& [name, value] : section.items()) {
    double* found = nullptr;
    for (const ParameterField& field : parameter_fields())
      if (name == field.name) found = &(parameters.*field.member);
    for (const selection::ModelField& field : selection::model_fields())
      if (name == field.name) found = &(model.*field.member);
    if (!found) throw std::runtime_error("there is no parameter \"" + name + "\" of a simulation");
    if (!value.is_number()) throw std::runtime_error("the parameter \"" + name + "\" of the simulation is no number");
    *found = value.get<double>();
  }
}

}  // namespace tutti::simulated
