// tutti-predict of communicators that span nodes: the candidates with their costs on both levels, and what algorithms of
// the literature would take there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "network/nodes.h"
#include "predict_sources.h"
#include "selection/algorithm.h"

namespace tutti::prediction {

/// "128x18", or the ranks of each node: "2,3,1". Ranks are numbered node by node. Throws UsageError.
network::Nodes parse_nodes(const std::string& text);

/// The parameters, with the names that files have.
nlohmann::ordered_json json_of(const network::Parameters& parameters);

/// What calls of this collective and size are chosen from: shape, parameters, table_entry, candidates, textbook, choice.
/// Throws UsageError if there is no such collective.
nlohmann::ordered_json candidates_between_nodes(const Options& options, const network::Nodes& nodes, std::size_t bytes,
                                                const selection::Knowledge& knowledge);

/// The choice of every collective in every size class up to `most`: shape, parameters, choices.
nlohmann::ordered_json overview_between_nodes(const Options& options, const network::Nodes& nodes, std::size_t most,
                                              const selection::Knowledge& knowledge);

/// Names the nearest collective.
UsageError no_such_collective(const std::string& name);

}  // namespace tutti::prediction
