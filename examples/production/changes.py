# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of single instructions of an object, to show that a finding goes when the wait or barrier that it needs is there."""
import re
import struct

WAITCNT, NOP, WORD = 0xBF8C, 0xBF800000, 4
BRANCHES = {0xBF82, *range(0xBF84, 0xBF8A)}
LARGEST = {"vmcnt": 63, "lgkmcnt": 15}  # as a count they wait for nothing


class ChangeError(Exception):
    """The change cannot be made: what is wrong, with what the object has there."""


def loaded_segments(elf):
    """(offset of its program header, offset in the file, address, size) of each segment that is loaded."""
    first, size, count = struct.unpack_from("<Q", elf, 32)[0], *struct.unpack_from("<HH", elf, 54)
    for at in range(first, first + count * size, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", elf, at)
        if kind == 1:  # PT_LOAD
            yield at, offset, address, length


def segment_at(elf, address):
    for segment in loaded_segments(elf):
        _, _, begin, length = segment
        if begin <= address <= begin + length - WORD:
            return segment
    raise ChangeError(f"no segment of the object holds the address {address:#x}")


def file_offset(elf, address):
    """Where the bytes at an address of a 64-bit ELF file lie."""
    _, offset, begin, _ = segment_at(elf, address)
    return offset + address - begin


def word_at(elf, address):
    return struct.unpack_from("<I", elf, file_offset(elf, address))[0]


def with_word(elf, address, word):
    at = file_offset(elf, address)
    return elf[:at] + struct.pack("<I", word) + elf[at + WORD:]


def with_count(elf, address, counter, count):
    """The object with another count in the wait: vmcnt in bits 3:0 and 15:14, lgkmcnt in bits 11:8."""
    word = word_at(elf, address)
    if word >> 16 != WAITCNT:
        raise ChangeError(f"no s_waitcnt is at {address:#x}, but {word:#010x}")
    if count > LARGEST[counter]:
        raise ChangeError(f"`{counter}({count})` is more than the {LARGEST[counter]} that s_waitcnt holds")
    if counter == "vmcnt":
        return with_word(elf, address, word & ~0xC00F | count & 15 | count >> 4 << 14)
    return with_word(elf, address, word & ~0xF00 | count << 8)


def with_counts(elf, first, last, counter, old, new):
    """The object with `new` in each wait from `first` to `last` that has the count `old`, and nothing else but a count."""
    if first > last:
        raise ChangeError(f"the first address, {first:#x}, is after the last, {last:#x}")
    if old == new:
        raise ChangeError(f"`{counter}({old}>{new})` changes nothing")
    if max(old, new) > LARGEST[counter]:
        raise ChangeError(f"`{counter}({max(old, new)})` is more than the {LARGEST[counter]} that s_waitcnt holds")
    mask, bits = (0xC00F, old & 15 | old >> 4 << 14) if counter == "vmcnt" else (0xF00, old << 8)
    places = [at for at in range(first, last + WORD, WORD)
              if word_at(elf, at) >> 16 == WAITCNT and word_at(elf, at) & mask == bits]
    if not places:
        raise ChangeError(f"no s_waitcnt from {first:#x} to {last:#x} has {counter}({old})")
    for at in places:
        elf = with_count(elf, at, counter, new)
    return elf


def moved(elf, source, target):
    """The object with the instruction of one word at `source` before the one at `target`, and those between 4 bytes on."""
    if source == target:
        raise ChangeError(f"the instruction at {source:#x} is moved before itself, which changes nothing")
    first, past = min(source, target), max(source + WORD, target)
    begin = file_offset(elf, first)
    file_offset(elf, past - WORD)
    size = words_of(word_at(elf, source))
    if size > 1:
        raise ChangeError(f"the instruction at {source:#x} has {size * WORD} bytes; only one of {WORD} bytes can be moved")
    at = first
    while at < max(source, target):
        at += words_of(word_at(elf, at)) * WORD
    if at > max(source, target):
        raise ChangeError(f"{max(source, target):#x} lies within an instruction, by the lengths of those from {first:#x} on")
    words = list(struct.unpack_from(f"<{(past - first) // WORD}I", elf, begin))
    for i, word in enumerate(words):
        if word >> 16 in BRANCHES:
            raise ChangeError(f"a branch at {first + i * WORD:#x} lies between {source:#x} and {target:#x}")
    word = words.pop((source - first) // WORD)
    words.insert((target - first) // WORD - (target > source), word)
    return elf[:begin] + struct.pack(f"<{len(words)}I", *words) + elf[begin + len(words) * WORD:]


def words_of(word):
    """How many words the instruction has that begins with `word`."""
    if word >> 30 == 3:  # VOP3, memory
        return 2
    if word >> 31 == 0:  # VOP1, VOP2, VOPC: SDWA, DPP, or a literal
        return 2 if word & 511 in (0xF9, 0xFA, 0xFF) else 1
    if word >> 23 == 0x17D:  # SOP1
        return 2 if word & 255 == 255 else 1
    if word >> 28 == 0xB and word >> 23 not in (0x17E, 0x17F):  # SOPK
        return 2 if word >> 23 & 31 == 20 else 1
    return 2 if word >> 23 != 0x17F and 255 in (word & 255, word >> 8 & 255) else 1  # SOP2, SOPC; SOPP has no literal


def branch(source, target):
    distance = (target - source) // WORD - 1
    if not -0x8000 <= distance < 0x8000:
        raise ChangeError(f"{target:#x} is further from {source:#x} than s_branch reaches")
    return 0xBF820000 | distance & 0xFFFF


def with_code(elf, address, words):
    """The object with `words` after the end of the segment that holds `address`, and their address. The segment goes to the
    end of the file, where it has room."""
    at, offset, begin, length = segment_at(elf, address)
    past = begin + length + WORD * len(words)
    if any(begin < other < past for _, _, other, _ in loaded_segments(elf)):
        raise ChangeError(f"no room for code is between the end of the segment, {begin + length:#x}, and the next one")
    place = len(elf) + (begin - len(elf)) % 0x1000
    segment = elf[offset:offset + length] + struct.pack(f"<{len(words)}I", *words)
    header = struct.pack("<QQQQQ", place, begin, begin, len(segment), len(segment))
    elf = elf[:at + 8] + header + elf[at + 8 + len(header):]
    return elf.ljust(place, b"\0") + segment, begin + length


def depends_on_address(word):
    """Branches, calls, and s_getpc, s_setpc and s_swappc."""
    return (word >> 16 in BRANCHES or word >> 23 in (0x170, 0x175)
            or word >> 23 == 0x17D and word >> 8 & 255 in range(0x1C, 0x1F))


def inserted(elf, address, words):
    """The object with other instructions before the one at `address`, which goes with them to code after the end."""
    first = word_at(elf, address)
    if depends_on_address(first):
        raise ChangeError(f"the instruction at {address:#x} ({first:#010x}) depends on its address")
    size = words_of(first)
    displaced = [word_at(elf, address + WORD * i) for i in range(size)]
    _, _, begin, length = segment_at(elf, address)
    past = begin + length
    code = [*words, *displaced]
    elf, place = with_code(elf, address, [*code, branch(past + WORD * len(code), address + WORD * size)])
    elf = with_word(elf, address, branch(address, place))
    return with_word(elf, address + WORD, NOP) if size == 2 else elf


HOW = """note: a change is one of
  0x4a3c=lgkmcnt(4)               another count in the s_waitcnt there; vmcnt too
  0x4a3c-0x5480=lgkmcnt(8>4)      in each s_waitcnt from the first to the second address that has the first count
  0x4a3c=0xbf800000               other bits: s_nop
  0x5fd8+0xbf8cc07f,0xbf8a0000    instructions before the one there: s_waitcnt lgkmcnt(0) and s_barrier
  0x60f4>0x5fd8                   an instruction of 4 bytes moved before another"""
NUMBER, BITS = "(0x[0-9a-fA-F]{1,8})", "0x([0-9a-fA-F]{8})"
FORMS = (
    (re.compile(rf"{NUMBER}=(vmcnt|lgkmcnt)\((\d+)\)"),
     lambda elf, address, counter, count: with_count(elf, int(address, 16), counter, int(count))),
    (re.compile(rf"{NUMBER}-{NUMBER}=(vmcnt|lgkmcnt)\((\d+)>(\d+)\)"),
     lambda elf, first, last, counter, old, new: with_counts(elf, int(first, 16), int(last, 16), counter, int(old), int(new))),
    (re.compile(rf"{NUMBER}={BITS}"), lambda elf, address, word: with_word(elf, int(address, 16), int(word, 16))),
    (re.compile(rf"{NUMBER}\+((?:0x[0-9a-fA-F]{{8}},?)+)(?<!,)"),
     lambda elf, address, words: inserted(elf, int(address, 16), [int(word, 16) for word in words.split(",")])),
    (re.compile(rf"{NUMBER}>{NUMBER}"), lambda elf, source, target: moved(elf, int(source, 16), int(target, 16))),
)


def is_change(text):
    return any(form.fullmatch(text) for form, _ in FORMS)


def changed(elf, change):
    """The object with one change, in one of the forms of `HOW`."""
    for form, apply in FORMS:
        match = form.fullmatch(change)
        if match:
            for one in filter(None, sum(re.findall(f"^{NUMBER}|[->]{NUMBER}", change), ())):
                if int(one, 16) % WORD:
                    raise ChangeError(f"`{change}`: {one} is no multiple of {WORD}, as addresses of instructions are")
            try:
                return apply(elf, *match.groups())
            except struct.error as error:
                raise ChangeError(f"`{change}`: the object is no whole 64-bit ELF file; it has {len(elf)} bytes") from error
    raise ChangeError(f"`{change}` is no change")
