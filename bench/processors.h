// The processors that this process may run on.
#pragma once

#include <vector>

namespace tutti::bench {

/// Their numbers, as the system counts them, in order.
std::vector<int> usable_processors();
/// How many they are.
int processor_count();
/// Binds the calling thread to a processor. False if the system refuses.
bool bind_to(int processor);

}  // namespace tutti::bench
