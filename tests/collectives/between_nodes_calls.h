// Calls of one algorithm between nodes, as Collectives makes them where the user has asked for it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "collectives/collectives.h"
#include "engine/spanning.h"

namespace tutti::test {

/// Whether an algorithm can carry out calls with such arguments on these nodes.
template <class Arguments>
bool can_do(const selection::Algorithm<Arguments>& algorithm, const network::Nodes& nodes, const Arguments& arguments) {
  selection::Shape shape;
  add_nodes(shape, nodes);
  if constexpr (requires { arguments.regular; }) shape.regular = arguments.regular;
  if constexpr (requires { arguments.combiner; }) shape.commutative = arguments.combiner->commutative;
  return algorithm.eligible(shape);
}

/// What has the user ask for an algorithm alone.
template <class Arguments>
selection::Knowledge asking_for(const selection::Algorithm<Arguments>& algorithm) {
  std::string words;
  for_each_collective([&]<class Of>(const char* collective) {
    if (std::is_same_v<Of, Arguments>) words += std::string(collective) + ":" + algorithm.name + ";";
  });
  selection::Knowledge knowledge;
  set_user_choice(knowledge, selection::UserChoice::parse(words, all_known_algorithms(), Log()));
  return knowledge;
}

/// From its beginning to its end. All ranks of the communicator call the same. False if bytes were left out that another rank
/// sent, for want of room.
template <class Arguments>
bool call_between_nodes(const Spanning& spanning, const selection::Algorithm<Arguments>& algorithm,
                        const Arguments& arguments) {
  const selection::Knowledge knowledge = asking_for(algorithm);
  Collectives collectives(spanning.inside, knowledge, &spanning);
  const Collectives::Done done = collectives.call(arguments);
  if (!done || std::string(collectives.last_algorithm()) != algorithm.name)
    throw std::logic_error(std::string(algorithm.name) + " was not chosen");
  return !done.truncated;
}

/// The same as a pending call, which has yet to be started. All that is passed outlives it.
template <class Arguments>
std::unique_ptr<PendingCall> prepare_between_nodes(const Spanning& spanning,
                                                   const selection::Algorithm<Arguments>& algorithm,
                                                   const Arguments& arguments) {
  const selection::Knowledge knowledge = asking_for(algorithm);
  Collectives collectives(spanning.inside, knowledge, &spanning);
  auto call = collectives.prepare(arguments);
  if (!call || std::string(collectives.last_algorithm()) != algorithm.name)
    throw std::logic_error(std::string(algorithm.name) + " was not chosen");
  return call;
}

}  // namespace tutti::test
