#include "selection/shipped.h"

namespace tutti::selection {

Model shipped_model(Maker maker) {
  Model model;
  if (maker != Maker::amd) return model;
  model.copy_byte = 1.0 / 55e9;
  model.spilled_byte = 1.0 / 45e9;
  model.remote_byte = model.exchange_byte = 1.0 / 25e9;
  model.reduce_byte = 1.0 / 70e9;
  model.slot_byte = 1.0 / 10e9;
  model.write_byte = 1.0 / 45e9;
  model.stream_byte = 1.0 / 30e9;
  model.cache_streams_byte = 1.0 / 22e9;
  model.left_byte = 1.0 / 13e9;
  model.found_byte = 1.0 / 120e9;
  model.found_streamed_byte = 1.0 / 24e9;
  model.take_byte = 1.0 / 120e9;
  model.memory_byte = 1.0 / 11e9;
  model.kept_far = 4 << 20;
  // Where two cores have no L3 in common, lines go through another die.
  model.hop_numa = 2;
  model.byte_numa = model.byte_socket = 1.5;
  model.store_numa = model.store_socket = 5;
  model.store_machine = 5;
  return model;
}

const char* shipped_words(Maker maker) {
  return maker == Maker::amd ? "shipped values for AMD" : "shipped values";
}

}  // namespace tutti::selection
