// The ways to complete requests.
#pragma once

#include <mpi.h>

#include <random>
#include <vector>

namespace tutti::tests {

enum class Way { wait, waitall, waitany, waitsome, test, testall, testany, testsome, get_status };
constexpr Way kWays[] = {Way::wait,    Way::waitall, Way::waitany,  Way::waitsome,  Way::test,
                         Way::testall, Way::testany, Way::testsome, Way::get_status};

/// Completes all of them, one by one in any order where the way lets one choose.
void complete(std::vector<MPI_Request>& all, Way way, std::mt19937_64& random);

}  // namespace tutti::tests
