from spack.package import *


class Tutti(CMakePackage):
    """Faster MPI collectives inside a node, for unmodified programs: a library that is preloaded by `tutti run`."""

    license("BSD-3-Clause")

    # From a checkout: spack develop --path <checkout> tutti@main, then spack install.
    version("main")

    variant("portable", default=False, description="Run with glibc 2.27 and without a C++ library, too")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("mpi")
    depends_on("hwloc@2: libs=static", type="build")
    depends_on("highway", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-typer@0.7:0.15", type="run")
    depends_on("py-click@8.1", type="run")
    depends_on("py-rich@13:", type="run")

    # mimalloc is compiled into the library from its source: its heaps lie in memory of Tutti's own.
    resource(
        name="mimalloc",
        git="https://github.com/microsoft/mimalloc.git",
        tag="v2.0.9",
        destination=".deps",
        placement="mimalloc",
    )

    requires(
        "target=x86_64:",
        "target=aarch64:",
        "target=ppc64le:",
        policy="one_of",
        msg="Tutti knows no other processors",
    )
    conflicts("%gcc@:10")
    conflicts("%clang@:13")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("TUTTI_BUILD_TESTS", False),
            self.define("TUTTI_CCACHE", False),
            self.define("TUTTI_MPI_PREFIX", self.spec["mpi"].prefix),
            self.define_from_variant("TUTTI_PORTABLE", "portable"),
        ]
