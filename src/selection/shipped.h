// The model's parameters of a machine that nobody has measured, as far as they differ by who made its processors.
#pragma once

#include "base/processor.h"
#include "selection/model.h"

namespace tutti::selection {

using processor::Maker;

/// amd: medians of an EPYC 9004 guest, 2026-11-29 (docs/model.md). other: of an ordinary server core.
Model shipped_model(Maker maker);

/// Where such parameters are from, in words.
const char* shipped_words(Maker maker);

}  // namespace tutti::selection
