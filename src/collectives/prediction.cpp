#include "collectives/prediction.h"

#include "collectives/collectives.h"
#include "collectives/kinds.h"

namespace tutti {

namespace {

template <class Arguments>
Prediction prediction_of(const selection::Algorithm<Arguments>& algorithm, selection::Shape shape, bool allowed,
                         const selection::Knowledge& knowledge) {
  Prediction prediction;
  prediction.algorithm = algorithm.name;
  prediction.requirements = algorithm.requirement.words;
  prediction.parameter = shape.parameter;
  prediction.allowed = allowed;
  if (algorithm.parameter.name) prediction.parameter_name = algorithm.parameter.name;
  prediction.eligible = algorithm.eligible(shape);
  if (!prediction.eligible) return prediction;
  if (shape.spans_nodes()) prediction.cost = algorithm.cost(shape);
  selection::for_each_moving(algorithm, shape, knowledge, [&](Moving moving, double seconds) {
    if (prediction.seconds && *prediction.seconds <= seconds) return;
    prediction.seconds = seconds;
    if (!shape.spans_nodes()) prediction.moving = name_of(moving);
  });
  return prediction;
}

/// What the MPI runs inside is not known (docs/decisions/host-without-a-cost.md).
Prediction prediction_of_host(bool allowed) {
  Prediction prediction;
  prediction.algorithm = selection::host_algorithm;
  prediction.requirements = "nothing";
  prediction.eligible = true;
  prediction.allowed = allowed;
  prediction.why_unpredicted = "the model does not predict the MPI's own algorithms; tutti tune measures them";
  return prediction;
}

/// The values of the parameter that are looked at: the user's, or all candidates; 0 where there is no parameter.
template <class Arguments>
std::vector<int> values_of(const selection::Algorithm<Arguments>& algorithm, const selection::Shape& shape,
                           int by_user) {
  if (!algorithm.parameter.name) return {0};
  if (by_user > 0) return {by_user};
  std::vector<int> values;
  for (int i = 0; const int value = algorithm.parameter.candidate(shape, i); ++i) values.push_back(value);
  return values;
}

template <class Arguments>
Predictions predict_among(std::string_view collective, selection::Shape shape, const selection::Knowledge& knowledge) {
  Predictions out;
  add_collective<Arguments>(shape, collective);
  const auto algorithms = algorithms_for<Arguments>(shape);
  const selection::UserChoice& user = knowledge.user_of(shape);
  for (const auto* algorithm : algorithms) {
    const bool allowed = user.allows(collective, algorithm->name);
    for (const int value : values_of(*algorithm, shape, user.parameter(collective, algorithm->name))) {
      selection::Shape asked = shape;
      asked.parameter = value;
      out.candidates.push_back(prediction_of(*algorithm, asked, allowed, knowledge));
    }
  }
  out.candidates.push_back(prediction_of_host(user.allows(collective, selection::host_algorithm)));
  const auto chosen = selection::choose(collective, algorithms, shape, knowledge);
  out.algorithm = chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm;
  out.parameter = chosen.parameter;
  if (chosen.algorithm) out.seconds = chosen.seconds;
  out.reason = chosen.reason;
  out.entry = knowledge.table ? knowledge.table->find(collective, shape) : nullptr;
  return out;
}

}  // namespace

std::optional<Predictions> predict(std::string_view collective, const selection::Shape& shape,
                                   const selection::Knowledge& knowledge) {
  std::optional<Predictions> out;
  for_each_collective([&]<class Arguments>(std::string_view name) {
    if (name == collective) out = predict_among<Arguments>(collective, shape, knowledge);
  });
  return out;
}

}  // namespace tutti
