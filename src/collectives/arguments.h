// The arguments of all collectives as the core sees them, and what is asked of each kind.
#pragma once

#include "collectives/allgather/arguments.h"
#include "collectives/allreduce/arguments.h"
#include "collectives/alltoall/arguments.h"
#include "collectives/barrier/arguments.h"
#include "collectives/bcast/arguments.h"
#include "collectives/gather/arguments.h"
#include "collectives/neighbor/arguments.h"
#include "collectives/reduce/arguments.h"
#include "collectives/reduce_scatter/arguments.h"
#include "collectives/scan/arguments.h"
#include "collectives/scatter/arguments.h"
