"""Prints a box of N^3 hexahedra in the format of gmsh 2, for code_saturne."""

import sys

n = int(sys.argv[1])
m = n + 1
print("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes")
print(m**3)
for i in range(m**3):
    print(i + 1, i % m / n, i // m % m / n, i // m // m / n)
print("$EndNodes\n$Elements")
print(n**3)
for i in range(n**3):
    a = 1 + i % n + i // n % n * m + i // n // n * m * m
    print(
        i + 1,
        5,
        2,
        1,
        1,
        a,
        a + 1,
        a + m + 1,
        a + m,
        a + m * m,
        a + m * m + 1,
        a + m * m + m + 1,
        a + m * m + m,
    )
print("$EndElements")
