// Ranks that end before their time, in every way; endings.py compares what becomes of the job with and without Tutti.
#pragma once

#include <string>

namespace tutti::tests {

/// Ends this rank; only comes back if it could not. way: see ends().
void end_in(const std::string& way);

/// Rank 1 ends: `way` is one of exit, _exit, quick_exit with "-STATUS" behind it, abort, signal-NUMBER, exec-SECONDS (the
/// process becomes a program that takes so long), mpi-abort-STATUS. What the others do meanwhile: "collective" or
/// "receive", they wait for it; "nonblocking", in a collective that all have started; "compute"; "same", they end as it does. delay: so many seconds later
/// than it might. Each prints PID, its rank and its process before.
int ends(const std::string& way, const std::string& others, unsigned delay);

/// The last rank ends without MPI_Finalize when its part is done; the others go on without it for longer than anybody
/// would wait for a rank that has ended, print DONE and end in the same way.
int goes_on();

}  // namespace tutti::tests
