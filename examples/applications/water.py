"""Energy and forces of a water molecule in a box, finite differences, the box cut into a part for each rank."""

import time

from ase.build import molecule
from gpaw import GPAW
from gpaw.mpi import world

atoms = molecule("H2O", vacuum=4.0)
atoms.calc = GPAW(mode="fd", gpts=(88, 88, 88), xc="PBE", txt=None, parallel={"domain": world.size})
begin = time.time()
energy, forces = atoms.get_potential_energy(), atoms.get_forces()
if world.rank == 0:
    print(f"energy {energy:.10f} force {forces[0, 2]:.8f}\nseconds {time.time() - begin:.3f}")
