// The model's parameters of a machine that nobody has measured, as far as they differ by who made its processors.
#pragma once

#include <cstdint>

#include "selection/model.h"

namespace tutti::selection {

enum class Maker : std::int32_t { other, amd };

/// Of the processor that this runs on.
Maker maker_of_processor();

/// amd: medians of an EPYC 9004 guest, 2026-11-29 (docs/model.md). other: of an ordinary server core.
Model shipped_model(Maker maker);

/// Where such parameters are from, in words.
const char* shipped_words(Maker maker);

}  // namespace tutti::selection
