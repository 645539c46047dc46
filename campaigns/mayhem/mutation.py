"""Random changes of bytes, and numbers at which something ends."""

import random

#: Numbers at which something ends.
EDGES = (0, 1, -1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, -(2**63))


def mutated(raw: bytes, chance: random.Random) -> bytes:
    """Other bytes: some bits or bytes changed, cut, doubled, or nothing but noise."""
    content = bytearray(raw)
    match chance.randrange(5):
        case 0:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        case 1:
            for _ in range(chance.randint(1, 6)):
                content[chance.randrange(len(content))] = chance.randrange(256)
        case 2:
            del content[chance.randrange(len(content)) :]
        case 3:
            begin = chance.randrange(len(content))
            content[begin:begin] = content[begin : begin + chance.randint(1, 20)]
        case _:
            return chance.randbytes(chance.randrange(80))
    return bytes(content)
