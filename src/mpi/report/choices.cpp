// For benchmarks, tuning and the fuzzer of tests/mpi, within a running job: what the library would choose from, and what it is to
// choose from now on.
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "collectives/prediction.h"
#include "mpi/communicators.h"

namespace {

using namespace tutti;

/// Of all that can carry a call out here, whatever the user has said.
std::vector<Prediction> candidates_of(const Collectives& collectives, const char* collective,
                                      const selection::Shape& shape) {
  selection::Knowledge anything;
  anything.model = collectives.knowledge().model;
  anything.network = collectives.knowledge().network;
  auto predictions = predict(collective, shape, anything);
  return predictions ? std::move(predictions->candidates) : std::vector<Prediction>();
}

/// 0, or the length that `text` needs where there is not so much room.
int put(const std::string& text, char* to, int bytes) {
  if (bytes < 0 || text.size() + 1 > static_cast<std::size_t>(bytes)) return static_cast<int>(text.size() + 1);
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

/// One line about where this process runs, tabs between: processor, cores, topology, host MPI, its version, Tutti's
/// version. Returns 0, a number of bytes if `text` has to have as many, or -1 if Tutti is inactive.
extern "C" __attribute__((visibility("default"))) int tutti_origin(char* text, int bytes) {
  const mpi::Job* job = mpi::job();
  if (!job) return -1;
  const selection::TableOrigin& origin = job->origin;
  return put(origin.machine.processor + "\t" + std::to_string(origin.machine.cores) + "\t" + origin.machine.topology +
                 "\t" + origin.host + "\t" + origin.host_version + "\t" TUTTI_VERSION,
             text, bytes);
}

/// What a collective (its name in TUTTI_ALGORITHM) of so many bytes is chosen from on this communicator: a line "levels
/// ranks_per_core reach class_bytes nodes ranks_per_node" (the latter of the node that has most), then for each eligible algorithm, with each of its parameters, a line "name[,k=4]
/// seconds" by the model. Local; all ranks get the same. Returns 0, a number of bytes if `text` has to have as many, or
/// -1: the communicator is the host's, or there is no such collective.
extern "C" __attribute__((visibility("default"))) int tutti_predict(MPI_Comm communicator, const char* collective,
                                                                    std::size_t message_bytes, char* text, int bytes) {
  const Collectives* collectives = mpi::collectives_of(communicator);
  if (!collectives) return -1;
  const selection::Shape shape = collectives->shape_of(collective, message_bytes);
  const auto candidates = candidates_of(*collectives, collective, shape);
  if (candidates.empty()) return -1;
  std::string lines = std::to_string(shape.levels) + " " + number(shape.ranks_per_core) + " " +
                      std::string(selection::name_of(shape.reach)) + " " + std::to_string(shape.bytes) + " " +
                      std::to_string(shape.nodes) + " " +
                      std::to_string(shape.spans_nodes() ? shape.places : shape.ranks) + "\n";
  for (const Prediction& each : candidates) {
    if (!each.seconds) continue;
    lines += each.algorithm;
    if (!each.parameter_name.empty())
      lines.append(1, ',').append(each.parameter_name).append(1, '=').append(std::to_string(each.parameter));
    lines.append(1, ' ').append(number(*each.seconds)).append(1, '\n');
  }
  return put(lines, text, bytes);
}

/// From now on this communicator's collectives are chosen as if TUTTI_ALGORITHM and TUTTI_MECHANISM had been these;
/// only mechanisms that were there at start-up can be named. Collective over the communicator, with the same words on
/// all ranks, while no operation of the library is under way on the node. The mechanism is the node's: other
/// communicators must not be used until they have been set, too. Returns 0; otherwise, on all ranks alike, nothing has
/// changed: the communicator is the host's, or the mechanism is not available.
extern "C" __attribute__((visibility("default"))) int tutti_set_choice(MPI_Comm communicator, const char* algorithm,
                                                                       const char* mechanism) {
  Collectives* collectives = mpi::collectives_of(communicator);
  mpi::Job* job = mpi::job();
  if (!collectives || !job || !mpi::restrict_mechanisms(*job, mechanism)) return 1;
  const auto known = all_known_algorithms();
  collectives->choose_anew(selection::UserChoice::parse(algorithm, known, job->node.log));
  return 0;
}
