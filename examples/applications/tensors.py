"""Torch on processors: a small network is trained on each rank's data, gradients are added up through mpi4py. STEPS"""

import sys
import time

import torch
from mpi4py import MPI

comm = MPI.COMM_WORLD
torch.set_num_threads(1)
torch.manual_seed(1)
net = torch.nn.Sequential(
    torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Linear(512, 8)
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
source = torch.Generator().manual_seed(100 + comm.rank)
begin = time.time()
for _ in range(int(sys.argv[1])):
    x = torch.randn(64, 256, generator=source)
    loss = ((net(x) - x[:, :8]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in net.parameters():
        comm.Allreduce(MPI.IN_PLACE, parameter.grad.numpy(), MPI.SUM)
        parameter.grad /= comm.size
    optimizer.step()
loss = comm.allreduce(loss.item())
if comm.rank == 0:
    print(f"loss {loss:.8e}\nseconds {time.time() - begin:.3f}")
