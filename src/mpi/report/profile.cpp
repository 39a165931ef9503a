#include "mpi/report/profile.h"

#include <cstdlib>

#include "base/ticks.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/report/recorder.h"

namespace tutti::mpi::profile {

constinit bool recording = false;
constinit thread_local Call* Call::innermost_ = nullptr;

namespace {

/// Never freed: threads may still be in calls when the process ends.
Recorder* recorder = nullptr;

}  // namespace

bool wanted() {
  const char* const file = std::getenv("TUTTI_PROFILE");
  return file && *file;
}

Call::Call(const char* function, Category category, const void* site, const void* frame)
    : outer_(innermost_), function_(function), site_(site), frame_(frame), category_(category) {
  innermost_ = this;
  begin_ = ticks();
}

void Call::has(MPI_Count count, MPI_Datatype datatype) {
  TypeInfo room;
  const TypeInfo* const info = count > 0 ? type_info(datatype, room) : nullptr;
  bytes_ = info ? static_cast<std::size_t>(count) * info->bytes : 0;
  has_bytes_ = true;
}

void Call::has_come() {
  if (come_ == 0) come_ = ticks();
}

void Call::was(const char* algorithm, const char* parameter_name, int parameter, const char* reason, const char* kept) {
  algorithm_ = algorithm;
  parameter_name_ = parameter_name;
  parameter_ = parameter;
  reason_ = reason;
  kept_ = kept;
}

void Call::look_whether_to_compare() {
  if (outer_ || !recorder) return;
  is_for_comparison_ = recorder->is_turn_of_host(*this, true);
}

void Call::look_whether_to_compare(MPI_Datatype datatype, MPI_Op operation) {
  if (outer_ || !recorder) return;
  const OperatorInfo info = operator_info(operation);
  TypeInfo room;
  const TypeInfo* const type = type_info(datatype, room);
  bool same = info.kind == OperatorKind::predefined && type && type->kernel_type;
  if (same && (info.operation == reduction::Operator::sum || info.operation == reduction::Operator::prod)) {
    using enum reduction::Type;
    const reduction::Type element = *type->kernel_type;
    const CommunicatorState* const state = known_state(communicator_);
    const bool is_whole = element <= u64 || element == byte;
    same = is_whole || (state && state->node_ranks.size() == 2);
  }
  is_for_comparison_ = recorder->is_turn_of_host(*this, same);
}

int Call::ended(int code) {
  if (outer_ || !recording || code != MPI_SUCCESS) return code;
  const std::uint64_t end = ticks();
  bool failed = false;
  code_of("TUTTI_PROFILE", failed, [&] {
    recorder->record(*this, end);
    return MPI_SUCCESS;
  });
  return code;
}

void start(const Job& job) {
  if (recorder || job.node.settings.profile.empty()) return;
  recorder = new Recorder(job);
  recording = wanted();
}

void ends(const CommunicatorState& state) {
  if (!recorder) return;
  const std::lock_guard lock(recorder->mutex);
  recorder->forget(state);
}

void is_being_freed(MPI_Comm communicator) {
  if (!recorder) return;
  const std::lock_guard lock(recorder->mutex);
  recorder->forget(communicator);
}

void finish(const Heading& heading) {
  if (!recorder) return;
  recording = false;
  recorder->finish(heading);
}

}  // namespace tutti::mpi::profile
