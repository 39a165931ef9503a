#include "completing.h"

#include <algorithm>
#include <cstddef>

namespace tutti::tests {

void complete(std::vector<MPI_Request>& all, Way way, std::mt19937_64& random) {
  const int count = static_cast<int>(all.size());
  std::vector<int> indices(all.size());
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  int flag = 0, index = 0, done = 0;
  switch (way) {
    case Way::wait:
      for (const std::size_t i : order) MPI_Wait(&all[i], MPI_STATUS_IGNORE);
      break;
    case Way::waitall:
      MPI_Waitall(count, all.data(), MPI_STATUSES_IGNORE);
      break;
    case Way::waitany:
      while (index != MPI_UNDEFINED) MPI_Waitany(count, all.data(), &index, MPI_STATUS_IGNORE);
      break;
    case Way::waitsome:
      while (done != MPI_UNDEFINED) MPI_Waitsome(count, all.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case Way::test:
      for (const std::size_t i : order)
        for (flag = 0; !flag;) MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE);
      break;
    case Way::testall:
      while (!flag) MPI_Testall(count, all.data(), &flag, MPI_STATUSES_IGNORE);
      break;
    case Way::testany:
      do MPI_Testany(count, all.data(), &index, &flag, MPI_STATUS_IGNORE);
      while (!flag || index != MPI_UNDEFINED);
      break;
    case Way::testsome:
      while (done != MPI_UNDEFINED) MPI_Testsome(count, all.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case Way::get_status:
      for (const std::size_t i : order) {
        for (flag = 0; !flag;) MPI_Request_get_status(all[i], &flag, MPI_STATUS_IGNORE);
        MPI_Request_get_status(all[i], &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&all[i], MPI_STATUS_IGNORE);
      }
  }
}

}  // namespace tutti::tests
