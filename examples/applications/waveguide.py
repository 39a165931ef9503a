"""A pulse in a waveguide with a bend, two dimensions, finite differences in time."""

import time

import meep as mp

mp.verbosity(0)
wide = mp.Block(mp.Vector3(12, 1, mp.inf), center=mp.Vector3(-2.5, -3.5), material=mp.Medium(epsilon=12))
high = mp.Block(mp.Vector3(1, 12, mp.inf), center=mp.Vector3(3.5, 2), material=mp.Medium(epsilon=12))
source = mp.Source(
    mp.GaussianSource(0.15, fwidth=0.1), component=mp.Ez, center=mp.Vector3(-7, -3.5), size=mp.Vector3(0, 1)
)
sim = mp.Simulation(
    cell_size=mp.Vector3(16, 16),
    geometry=[wide, high],
    sources=[source],
    boundary_layers=[mp.PML(1.0)],
    resolution=24,
)
flux = sim.add_flux(0.15, 0.1, 50, mp.FluxRegion(center=mp.Vector3(3.5, 6.5), size=mp.Vector3(2, 0)))
begin = time.time()
sim.run(until=2600)
through = mp.get_fluxes(flux)
if mp.am_master():
    print(f"flux {sum(through):.8e}\nseconds {time.time() - begin:.3f}")
