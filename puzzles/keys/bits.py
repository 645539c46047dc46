"""Bits counted and found by the processor's own instructions, for kernels: numba offers neither."""

from typing import Any

from llvmlite import ir

# By the one door, which sets numba up.
from puzzles.jit import intrinsic, types


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """How many bits of a uint64 are set."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """The place of the lowest set bit of a uint64; 64 if none is set."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build
