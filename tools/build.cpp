// Prints how the library was built, as JSON, for `tutti info`.
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "reduction/instruction_set.h"

namespace {

using tutti::reduction::InstructionSet;

constexpr std::pair<InstructionSet, const char*> sets[] = {
    {InstructionSet::baseline, "baseline"}, {InstructionSet::sse4, "sse4"}, {InstructionSet::avx2, "avx2"},
    {InstructionSet::avx512, "avx512"},     {InstructionSet::neon, "neon"}, {InstructionSet::sve, "sve"},
    {InstructionSet::sve2, "sve2"}};

}  // namespace

int main() {
  using tutti::reduction::kernel_built_for, tutti::reduction::Operator, tutti::reduction::Type;
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const auto& [set, name] : sets)
    if (kernel_built_for(set, Operator::sum, Type::f32))
      kernels.push_back({{"instruction_set", name}, {"runs_here", tutti::processor::runs(set)}});
  const nlohmann::ordered_json build = {{"compiler", TUTTI_BUILD_COMPILER},
                                        {"type", TUTTI_BUILD_TYPE},
                                        {"flags", TUTTI_BUILD_FLAGS},
                                        {"kernels", std::move(kernels)}};
  std::cout << build.dump(1) << std::endl;
  return std::cout ? 0 : 1;
}
