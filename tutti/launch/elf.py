"""Reads what the dynamic loader would read of an ELF file: needed libraries, search paths, a few symbols.

Only the parts needed to tell which MPI a program was linked with; pure Python, no external tool.
"""

from __future__ import annotations

import mmap
import struct

from tutti.launch.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from pathlib import Path
    from typing import Dict, List, Tuple, Union

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
SHT_SYMTAB, SHT_DYNSYM = 2, 11
SHN_UNDEF = 0


class NotElf(Exception):
    """The file is not an ELF file, or not one that can be understood."""


class Elf(Record):
    """What was read of one file.

    path: as a string.
    architecture: (word size in bits, e_machine), equal for files that can be loaded together.
    dynamic: False for a statically linked program, which LD_PRELOAD cannot reach.
    soname, needed, rpath, runpath: of the dynamic section, strings.
    symbols: for each symbol that was asked for and occurs, is it defined here?
    """

    FIELDS = ("path", "architecture", "dynamic", "soname", "needed", "rpath", "runpath", "symbols")


class _Header:
    """wide: 64 bits. order: of bytes, for struct. fields: as they stand in the file after the identification."""

    def __init__(self, wide: bool, order: str, fields: Tuple[int, ...]) -> None:
        self.wide = wide
        self.order = order
        self.machine = fields[1]
        self.program_offset, self.section_offset = fields[4], fields[5]
        self.program_entry, self.program_count = fields[8], fields[9]
        self.section_entry, self.section_count = fields[10], fields[11]


class _Section:
    def __init__(self, kind: int, offset: int, size: int, link: int, entry: int) -> None:
        self.kind = kind
        self.offset = offset
        self.size = size
        self.link = link
        self.entry = entry


def _read_header(data: mmap.mmap) -> _Header:
    if data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
        raise NotElf("no ELF header")
    wide = data[4] == 2
    order = "<" if data[5] == 1 else ">"
    fields = struct.unpack_from(order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"), data, 16)
    return _Header(wide, order, fields)


def _program_headers(data: mmap.mmap, header: _Header) -> List[Tuple[int, int, int, int]]:
    """(type, file offset, address, size in the file) of every segment."""
    rows = []
    for index in range(header.program_count):
        at = header.program_offset + index * header.program_entry
        if header.wide:
            kind, _, offset, address, _, size = struct.unpack_from(header.order + "IIQQQQ", data, at)
        else:
            kind, offset, address, _, size = struct.unpack_from(header.order + "IIIII", data, at)
        rows.append((kind, offset, address, size))
    return rows


def _sections(data: mmap.mmap, header: _Header) -> List[_Section]:
    rows = []
    for index in range(header.section_count):
        at = header.section_offset + index * header.section_entry
        if header.wide:
            _, kind, _, _, offset, size, link, _, _, entry = struct.unpack_from(
                header.order + "IIQQQQIIQQ", data, at
            )
        else:
            _, kind, _, _, offset, size, link, _, _, entry = struct.unpack_from(
                header.order + "IIIIIIIIII", data, at
            )
        rows.append(_Section(kind, offset, size, link, entry))
    return rows


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode("utf-8", "surrogateescape")


def _dynamic(data: mmap.mmap, header: _Header) -> Dict[int, List[str]]:
    """The string-valued entries of the dynamic section, by tag; empty for a static program."""
    segments = _program_headers(data, header)
    width, form = (16, "qQ") if header.wide else (8, "iI")
    entries: List[Tuple[int, int]] = []
    for kind, offset, _, size in segments:
        if kind == PT_DYNAMIC:
            for at in range(offset, offset + size - width + 1, width):
                tag, value = struct.unpack_from(header.order + form, data, at)
                if tag == 0:
                    break
                entries.append((tag, value))
    table = next((value for tag, value in entries if tag == DT_STRTAB), None)
    if table is None:
        return {}
    base = next(
        (offset + table - address for kind, offset, address, size in segments
         if kind == PT_LOAD and address <= table < address + size),
        None,
    )  # fmt: skip
    if base is None:
        raise NotElf("string table outside the file")
    found: Dict[int, List[str]] = {tag: [] for tag in (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH)}
    for tag, value in entries:
        if tag in found:
            found[tag].append(_text(data, base + value))
    return found


def _symbols(
    data: mmap.mmap, header: _Header, wanted: Tuple[str, ...], tables: Tuple[int, ...]
) -> Dict[str, bool]:
    names = {name.encode(): name for name in wanted}
    found: Dict[str, bool] = {}
    sections = _sections(data, header)
    for section in sections:
        if section.kind not in tables or not section.entry:
            continue
        strings = sections[section.link]
        # Offsets of the wanted names in the string table: cheaper than decoding every symbol's name. Linkers store
        # one name as the tail of another (MPI_Init within PMPI_Init), so every occurrence counts.
        offsets = {}
        end = strings.offset + strings.size
        for raw, name in names.items():
            at = data.find(raw + b"\0", strings.offset, end)
            while at >= 0:
                offsets[at - strings.offset] = name
                at = data.find(raw + b"\0", at + 1, end)
        if not offsets:
            continue
        form = struct.Struct(header.order + ("IBBHQQ" if header.wide else "IIIBBH"))
        where = 3 if header.wide else 5
        for at in range(section.offset, section.offset + section.size - form.size + 1, section.entry):
            fields = form.unpack_from(data, at)
            name = offsets.get(fields[0], "")
            if name:
                found[name] = found.get(name, False) or fields[where] != SHN_UNDEF
    return found


def read_elf(path: Union[str, Path], wanted: Tuple[str, ...] = (), exported: bool = False) -> Elf:
    """Reads one file. wanted: names of symbols to look for; exported: among those that the loader sees only, which is
    quicker. Raises NotElf or OSError."""
    tables = (SHT_DYNSYM,) if exported else (SHT_SYMTAB, SHT_DYNSYM)
    with open(path, "rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise NotElf("empty file") from None
        with data:
            if len(data) < 52:
                raise NotElf("too short")
            try:
                header = _read_header(data)
                strings = _dynamic(data, header)
                symbols = _symbols(data, header, wanted, tables) if wanted else {}
            except (struct.error, IndexError, OverflowError, ValueError):
                raise NotElf("damaged") from None

    def split(tag: int) -> Tuple[str, ...]:
        return tuple(part for value in strings.get(tag, []) for part in value.split(":") if part)

    return Elf(
        path=str(path),
        architecture=(64 if header.wide else 32, header.machine),
        dynamic=bool(strings),
        soname=next(iter(strings.get(DT_SONAME, [])), None),
        needed=tuple(strings.get(DT_NEEDED, [])),
        rpath=split(DT_RPATH),
        runpath=split(DT_RUNPATH),
        symbols=symbols,
    )
