# A large matrix times many vectors, cut into blocks of rows, with what Rmpi offers of collectives, objects included.
library(Rmpi)
rank <- mpi.comm.rank(0)
ranks <- mpi.comm.size(0)
n <- 2000
rows <- n %/% ranks
set.seed(rank + 1)
block <- matrix(runif(rows * n), rows)
x <- seq_len(n) / n
if (rank == 0) mpi.bcast.Robj(x, 0, 0) else x <- mpi.bcast.Robj(NULL, 0, 0)
begin <- proc.time()[["elapsed"]]
for (i in 1:28000) {
  x <- mpi.allgather(as.double(block %*% x), 2, double(n), comm = 0)
  x <- x / sqrt(mpi.allreduce(sum(x^2) / ranks, 2, comm = 0))
}
parts <- mpi.gather.Robj(list(rank = rank, sum = sum(x)), root = 0, comm = 0)
if (rank == 0) {
  cat(sprintf("sum %.12e of %d\nseconds %.3f\n", sum(x), length(parts), proc.time()[["elapsed"]] - begin))
}
invisible(mpi.finalize())
