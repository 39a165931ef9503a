"""Arrays in the memory of neighbours, arrays that are handed over without a copy, and threads as ranks: for programs
with mpi4py.

    from mpi4py import MPI
    from tutti import mpi

    array = mpi.alloc((1000, 1000))                        # neighbours see it
    theirs = mpi.peer_array(comm, 1, handle, (1000, 1000)) # of rank 1, which has told mpi.handle(array); or None
    mpi.give(comm, array, dest=1, tag=5)                   # it is rank 1's now
    array = mpi.take(comm, source=0, tag=5, dtype=float)

    team = mpi.Team(comm, 4)                               # of four threads of this process; then on each of them:
    with team.attached(number) as member:
        member.allreduce(array, result, op=MPI.SUM)

Arrays are NumPy's, communicators mpi4py's. Without Tutti the same calls work by copies, and there is no array of a peer
(docs/pointers.md, docs/teams.md). What goes wrong raises OSError where the communicator's errors return, as those of
mpi4py do.
"""

import ctypes
import os
import re

import numpy

from tutti import places

_functions = None


def _loaded_mpi():
    """The path of the MPI's own library that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(None, 5)[-1].strip() for line in maps if "/" in line}
    found = sorted(path for path in paths if re.match(r"libmpi(ch|_abi)?\.so", os.path.basename(path)))
    if not found:
        raise OSError("there is no MPI in this process: import mpi4py.MPI first")
    return found[0]


def _library():
    """The functions of tutti.h, by those that take Fortran's communicators."""
    global _functions
    if _functions is None:
        path = _loaded_mpi()
        # Ours looks its functions up among those that the whole process sees.
        mpi = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
        abi = "openmpi" if hasattr(mpi, "ompi_mpi_comm_world") else "mpich"
        if os.path.basename(path).startswith("libmpi_abi"):
            abi = "abi"
        name = f"libtutti-python-{abi}.so"
        for candidate in places.candidates("lib", "lib", name):
            if os.path.isfile(candidate):
                _functions = ctypes.CDLL(candidate)
                break
        else:
            raise OSError(f"there is no {name}: {places.remedy()}")
        _functions.TUTTI_Free.argtypes = [ctypes.c_void_p]
    return _functions


def _check(code):
    """As mpi4py, whose communicators let errors return."""
    if code:
        raise OSError(f"Tutti: MPI error {code}")


class _Memory:
    """Bytes at an address, of which NumPy makes an array that keeps this alive."""

    def __init__(self, pointer, byte_count):
        self.byte_count = byte_count
        self.__array_interface__ = {
            "shape": (byte_count,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
        }

    def array(self, dtype):
        return (numpy.asarray(self) if self.byte_count else numpy.empty(0, numpy.uint8)).view(dtype)


class _Block(_Memory):
    """A block that is this process's until it is given away: then arrays of it must not be used any more."""

    def __init__(self, pointer, byte_count):
        super().__init__(pointer, byte_count)
        self.pointer = pointer
        self.free = _library().TUTTI_Free

    def __del__(self):
        if self.pointer:
            self.free(self.pointer)
            self.pointer = None


def _block_of(array):
    """What an array of alloc() or take() lies in."""
    base = array
    while isinstance(base, numpy.ndarray):
        base = base.base
    if not isinstance(base, _Block):
        raise ValueError("only arrays of tutti.mpi.alloc() and take() can be given")
    if not base.pointer:
        raise ValueError("this array was given away already")
    if array.ctypes.data != base.pointer or not array.flags.c_contiguous:
        raise ValueError("an array is given as a whole, from its beginning on")
    return base


def loaded():
    """Whether Tutti is in this process."""
    return _library().TUTTI_Loaded() == 1


def alloc(shape, dtype=float):
    """An array that neighbours see where that is possible, of unknown contents."""
    dtype = numpy.dtype(dtype)
    byte_count = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
    pointer = ctypes.c_void_p()
    _check(_library().TUTTI_Alloc(ctypes.c_ssize_t(byte_count), ctypes.byref(pointer)))
    return _Block(pointer.value, byte_count).array(dtype).reshape(shape)


def handle(array):
    """What a rank tells others about an array of its own: an integer of 64 bits, for peer_array()."""
    if not array.flags.c_contiguous:
        raise ValueError("only arrays without gaps have a handle")
    found = ctypes.c_uint64()
    _check(
        _library().TUTTI_Peer_handle(
            ctypes.c_void_p(array.ctypes.data), ctypes.c_ssize_t(array.nbytes), ctypes.byref(found)
        )
    )
    return found.value


def peer_array(comm, rank, handle, shape, dtype=float):
    """The array of a rank that has told its handle, as long as its owner has it; None where it cannot be reached."""
    dtype = numpy.dtype(dtype)
    byte_count = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
    pointer = ctypes.c_void_p()
    _check(
        _library().TUTTI_Peer_pointer_f(
            comm.py2f(), rank, ctypes.c_uint64(handle), ctypes.c_ssize_t(byte_count), ctypes.byref(pointer)
        )
    )
    if not pointer.value:
        return None
    return _Memory(pointer.value, byte_count).array(dtype).reshape(shape)


class Request:
    """What igive() and itake() have started."""

    def __init__(self):
        self._request = ctypes.c_void_p()
        self._pointer = ctypes.c_void_p()
        self._bytes = ctypes.c_ssize_t()
        self._where = (ctypes.c_int * 2)()
        self._dtype = None  #: of what is taken; None: something is given
        self._result = None
        self._over = False

    def _end(self):
        self._over = True
        if self._dtype is not None:
            self._result = _taken(self._pointer, self._bytes, self._dtype)
        return self._result

    def wait(self):
        """The array that was taken; None if one was given."""
        if self._over:
            return self._result
        _check(_library().TUTTI_Wait_f(ctypes.byref(self._request), self._where))
        return self._end()

    def test(self):
        """(whether it is over, the array that was taken)"""
        flag = ctypes.c_int(1)
        if not self._over:
            _check(_library().TUTTI_Test_f(ctypes.byref(self._request), ctypes.byref(flag), self._where))
            if flag.value:
                self._end()
        return bool(flag.value), self._result

    @property
    def source(self):
        """The rank that gave, once it is over."""
        return self._where[0]

    @property
    def tag(self):
        """The tag that it gave it with."""
        return self._where[1]


def _taken(pointer, byte_count, dtype):
    if not pointer.value:
        return None
    return _Block(pointer.value, byte_count.value).array(dtype)


def _hand_over(function, comm, array, dest, tag, *more):
    block = _block_of(array)
    pointer, block.pointer = block.pointer, None
    code = function(ctypes.c_void_p(pointer), ctypes.c_ssize_t(array.nbytes), dest, tag, comm.py2f(), *more)
    if code:
        block.pointer = pointer
    _check(code)
    # Views of it are not seen from here.
    array.flags.writeable = False


def give(comm, array, dest, tag=0):
    """Hands an array of alloc() or take() over to `dest`, as a whole. It and its views may not be used afterwards."""
    _hand_over(_library().TUTTI_Give_f, comm, array, dest, tag)


def igive(comm, array, dest, tag=0):
    """The same without waiting: a Request."""
    request = Request()
    _hand_over(_library().TUTTI_Igive_f, comm, array, dest, tag, ctypes.byref(request._request))
    return request


def itake(comm, source=None, tag=None, dtype=numpy.uint8):
    """Begins to take an array: a Request. source, tag: None for any."""
    from mpi4py import MPI

    request = Request()
    request._dtype = numpy.dtype(dtype)
    _check(
        _library().TUTTI_Itake_f(
            ctypes.byref(request._pointer),
            ctypes.byref(request._bytes),
            MPI.ANY_SOURCE if source is None else source,
            MPI.ANY_TAG if tag is None else tag,
            comm.py2f(),
            ctypes.byref(request._request),
        )
    )
    return request


def take(comm, source=None, tag=None, dtype=numpy.uint8):
    """Takes an array that was given: of one dimension, with elements of `dtype`; None from MPI.PROC_NULL."""
    return itake(comm, source, tag, dtype).wait()


class Team:
    """Threads of all processes of a communicator as ranks. Made by one thread of each process; threads: how many this
    one brings."""

    def __init__(self, comm, threads):
        self._team = ctypes.c_void_p()
        _check(_library().TUTTI_Team_create_f(comm.py2f(), threads, ctypes.byref(self._team)))

    def free(self):
        """By one thread of each process, when all threads have detached."""
        _check(_library().TUTTI_Team_free(ctypes.byref(self._team)))

    def attached(self, number=-1):
        """For `with`: the calling thread's part, as thread `number` of this process, or as the first that nobody is."""
        return Member(self._team, number)


def _type_of(array):
    """The MPI type of an array's elements, as an integer of Fortran's."""
    from mpi4py import MPI

    code = array.dtype.char
    found = MPI.Datatype.fromcode(code) if hasattr(MPI.Datatype, "fromcode") else MPI._typedict[code]
    return found.py2f()


def _whole(array):
    """An array as a buffer: address, elements, type."""
    if not array.flags.c_contiguous:
        raise ValueError("only arrays without gaps are sent and received")
    return ctypes.c_void_p(array.ctypes.data), ctypes.c_longlong(array.size), _type_of(array)


class Member:
    """A thread's part in a team, while it is attached. Arrays are sent and received as a whole; of gather and scatter,
    and of those to all, the larger one has a part for each rank."""

    def __init__(self, team, number):
        self._team = team
        self._number = number
        self.rank = self.size = -1

    def __enter__(self):
        library = _library()
        _check(library.TUTTI_Team_attach(self._team, self._number))
        rank, size = ctypes.c_int(), ctypes.c_int()
        _check(library.TUTTI_Team_rank(self._team, ctypes.byref(rank)))
        _check(library.TUTTI_Team_size(self._team, ctypes.byref(size)))
        self.rank, self.size = rank.value, size.value
        return self

    def __exit__(self, *_):
        _check(_library().TUTTI_Team_detach(self._team))

    def _reduction(self, name, send, receive, op, *root):
        library = _library()
        library.TUTTI_In_place_f.restype = ctypes.c_void_p
        to, count, kind = _whole(send if receive is None else receive)
        source = ctypes.c_void_p(library.TUTTI_In_place_f()) if send is None else _whole(send)[0]
        if send is not None and receive is not None and send.size != receive.size:
            raise ValueError("what is sent and received differs in size")
        _check(
            getattr(library, f"TUTTI_Team_{name}_f")(source, to, count, kind, op.py2f(), *root, self._team)
        )

    def _blocks(self, name, send, receive, *root):
        """Of each a block, or one for each rank."""
        given = []
        for array, parts in ((send, name in ("scatter", "alltoall")), (receive, name != "scatter")):
            if array is None:
                other = send if receive is None else receive
                given += [None, ctypes.c_longlong(0), _type_of(other)]
                continue
            pointer, count, kind = _whole(array)
            if parts and array.size % self.size:
                raise ValueError(f"{array.size} elements are not as many for each of {self.size} ranks")
            given += [pointer, ctypes.c_longlong(count.value // (self.size if parts else 1)), kind]
        _check(getattr(_library(), f"TUTTI_Team_{name}_f")(*given, *root, self._team))

    def barrier(self):
        _check(_library().TUTTI_Team_barrier(self._team))

    def bcast(self, array, root=0):
        _check(_library().TUTTI_Team_bcast_f(*_whole(array), root, self._team))

    def reduce(self, send, receive, op, root=0):
        """receive: at the root, and of any use there alone."""
        self._reduction("reduce", send, receive, op, root)

    def allreduce(self, send, receive, op):
        """send: None for what lies in `receive`; so in the other ones."""
        self._reduction("allreduce", send, receive, op)

    def scan(self, send, receive, op):
        self._reduction("scan", send, receive, op)

    def exscan(self, send, receive, op):
        self._reduction("exscan", send, receive, op)

    def gather(self, send, receive, root=0):
        """receive: at the root, None elsewhere."""
        self._blocks("gather", send, receive, root)

    def scatter(self, send, receive, root=0):
        """send: at the root, None elsewhere."""
        self._blocks("scatter", send, receive, root)

    def allgather(self, send, receive):
        self._blocks("allgather", send, receive)

    def alltoall(self, send, receive):
        self._blocks("alltoall", send, receive)
