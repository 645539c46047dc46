"""The only access to numba: compiled kernels that release the GIL and are cached on disk.

numba's own cache does not see an edit of a module that a kernel imports (numba#9483), and filled from several processes
at once it can crash (numba#4807). Here each compiled kernel is a file of its own, with a name that identifies its code
(`hakoiri.fingerprint`), its types and the processor. So no file is ever out of date, whichever version of the sources
and however many processes use the directory. A kernel is compiled when it is first called, by one process for all that
need it meanwhile (`_alone`); kernels of different modules are compiled side by side. A file is the SHA-256 of the rest,
and a pickle: whether the code needs little of numba, and the compiled function as numba pickles it.
The files are in ``NUMBA_CACHE_DIR`` of the environment, or else in the user's cache folder.
"""

import atexit
import fcntl
import gc
import hashlib
import os
import pickle
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, TypeVar

import platformdirs
from llvmlite import ir

_collects = gc.isenabled()
# numba's import makes 100,000 permanent objects: garbage collections of them take a sixth of its time.
gc.disable()
import numba  # noqa: E402
from llvmlite.binding import add_symbol  # noqa: E402
from numba import extending, types  # noqa: E402
from numba.core.caching import NullCache  # noqa: E402
from numba.core.compiler import CompileResult  # noqa: E402
from numba.core.runtime._nrt_python import c_helpers  # type: ignore[import-not-found]  # noqa: E402
from numba.core.serialize import dumps  # noqa: E402

from hakoiri.errors import PuzzleWarning  # noqa: E402
from hakoiri.fingerprint import UnknownGlobalError, digest_of, fingerprint  # noqa: E402
from hakoiri.owned import read_owned, require_owned_directory  # noqa: E402
from hakoiri.timing import timed  # noqa: E402

gc.freeze()
if _collects:
    gc.enable()

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Increased whenever the contents of a file change in form.
_FORMAT = 3
_DIGEST_BYTES = hashlib.sha256().digest_size
_PLAIN_SYMBOL = re.compile(r"llvm\.|_?Py|NRT_|numba_(attempt|do_raise|gil|runtime|unpickle)")
_LOCK_FILE = "compiling"
_unliteral: Callable[[Any], Any] = types.unliteral


class _Compilation:
    """The compilation in this process: by one thread at a time, because numba has a lock of its own."""

    #: A kernel is being compiled; those that it calls belong to it.
    goes_on = False
    #: Number of kernels compiled so far, and the seconds that they took since `take_compiled`.
    count, seconds = 0, 0.0
    #: The functions to call before each kernel, the newest of them alone.
    tellers: ClassVar[list[Callable[[], None]]] = []


_compilation = _Compilation()


@cache
def cache_directory() -> Path:
    """The directory of compiled kernels, created if it was not there.

    Compiled kernels are code. If it cannot be written (a read-only home), or others can write to it, return a new
    private folder for this process and its children, and warn. That folder is removed when this process ends.
    """
    wanted = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(platformdirs.user_cache_dir("hakoiri")) / "kernels")
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_owned_directory(wanted)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        why = f"compiled kernels cannot be kept in {wanted}: {error.strerror}; each command compiles its own"
        warnings.warn(why, PuzzleWarning, stacklevel=2)
        os.environ["NUMBA_CACHE_DIR"] = folder = tempfile.mkdtemp(prefix="hakoiri-kernels-")
        atexit.register(_remove, folder, os.getpid())
        return Path(folder)


def _remove(folder: str, maker: int) -> None:
    """Remove a temporary folder, but not at the end of a forked child of its maker."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def intrinsic(function: Callable[..., Any]) -> Any:
    """A function that kernels have from LLVM's own instructions."""
    made: Any = extending.intrinsic(function)
    return made


def jit(function: _Function) -> _Function:
    """Compile `function` by numba: nopython, no GIL while it runs, cached on disk, never parallel (chunks are)."""
    # No wrapper for calls from C is needed.
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(**options)(function)
    compiled._cache = kept = _Kept(compiled.py_func)
    compiler, fold = compiled._compiler, compiled._compiler.fold_argument_types
    compiler.compile = partial(kept.compile, compiled.targetctx, compiler.compile)
    compiled.compile = partial(timed, compiled.compile)
    # A literal 0 is an integer like any other: for numba it is a type, and one more version to compile.
    compiler.fold_argument_types = lambda args, kws: fold(
        [_unliteral(each) for each in args], {name: _unliteral(each) for name, each in kws.items()}
    )
    made: _Function = compiled
    return made


@contextmanager
def telling(tell: Callable[[int], None]) -> Iterator[None]:
    """Call `tell` in the block before each kernel is compiled, with the number of those compiled before; it may raise.

    While another process compiles, it is called again and again, with a number above 0. It is called in the thread that
    needs the kernel, but never between a kernel and those that it calls: numba would take an error for one of types.
    """
    before, calls = _compilation.count, count()

    def teller() -> None:
        tell(max(_compilation.count - before, next(calls) > 0))

    _compilation.tellers.append(teller)
    try:
        yield
    finally:
        _compilation.tellers.remove(teller)


@contextmanager
def _alone(module: str) -> Iterator[None]:
    """Let no other process compile kernels of a module in the block: of several that start together one does the work.

    What these kernels call in other modules two processes may compile at once.
    """
    if _compilation.goes_on:
        yield
        return
    for tell in _compilation.tellers[-1:]:
        tell()
    with ExitStack() as stack:
        # Where the folder is gone, each process compiles for itself.
        with suppress(OSError):
            lock = stack.enter_context(open(cache_directory() / f"{_LOCK_FILE}-{module}", "w", encoding="utf-8"))
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                # No signal would end a wait for the lock itself.
                time.sleep(0.1)
                for tell in _compilation.tellers[-1:]:
                    tell()
        _compilation.goes_on, began = True, time.perf_counter()
        try:
            yield
        finally:
            _compilation.goes_on = False
            _compilation.count += 1
            _compilation.seconds += time.perf_counter() - began


def take_compiled() -> float:
    """Return the seconds in which this process compiled kernels since the last call."""
    taken, _compilation.seconds = _compilation.seconds, 0.0
    return taken


class _Kept(NullCache):
    """The compiled versions of one function on disk, with the interface of a cache of numba's dispatcher."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        return str(cache_directory() / self._function.__module__)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        path = self._file(sig, target_context)
        raw = b""
        if path is not None:
            with suppress(OSError):
                raw = read_owned(path)
        # With its name: one file in the place of another is right by itself.
        if path is not None and _sealed(path.name, raw[_DIGEST_BYTES:]) == raw:
            # One kept by another version may name modules that are gone: it is compiled again.
            with suppress(ImportError):
                is_plain, parts = pickle.loads(raw[_DIGEST_BYTES:])  # noqa: S301  (our own)
                # The imports for compiling take 0.3 s, because numba imports half of scipy.
                _add_runtime() if is_plain else target_context.refresh()
                return CompileResult._rebuild(target_context, *parts)  # type: ignore[no-untyped-call]
        return None

    def compile(self, target_context: Any, compile_by_numba: Callable[..., Any], sig: Any, result: Any) -> Any:
        """Return the version for the types `sig`, compiled and kept by this process, or meanwhile by another."""
        with _alone(self._function.__module__):
            if (found := self.load_overload(sig, target_context)) is not None:
                target_context.insert_user_function(found.entry_point, found.fndesc, [found.library])
                return found
            made = compile_by_numba(sig, result)
            self._keep(sig, made)
            return made

    def _keep(self, sig: Any, data: Any) -> None:
        path = self._file(sig, data.target_context)
        if path is None or data.library.has_dynamic_globals:
            return
        *parts, environments = data._reduce()
        # An environment holds the constants of an inlined function; one without any is never used, and imports much.
        parts.append([each for each in environments if each.consts])
        raw = dumps((_is_plain(data.library._final_module), parts))  # type: ignore[no-untyped-call]
        # A kernel that cannot be written is compiled again the next time.
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(_sealed(path.name, raw))
            Path(file.name).replace(path)

    def _file(self, sig: Any, target_context: Any) -> Path | None:
        """Return the file of the version for the types `sig`; ``None`` if the function's dependencies are unknown."""
        signature = [_described(type_) for type_ in sig]
        if " at 0x" in str(sig):
            return None  # A function as an argument is named by its address.
        # With NUMBA_BOUNDSCHECK=1 another is compiled, which checks every index.
        checks = ["checks"] if numba.config.BOUNDSCHECK else []  # type: ignore[attr-defined]
        target = *target_context.codegen().magic_tuple(), *checks
        try:
            digest = digest_of(_FORMAT, fingerprint(self._function), signature, target)
        except UnknownGlobalError:
            return None
        return Path(self.cache_path) / f"{self._function.__qualname__}-{digest}"


def _sealed(name: str, raw: bytes) -> bytes:
    """Return the contents of a file: behind a digest of them and of the file's name."""
    return hashlib.sha256(name.encode() + b"\0" + raw).digest() + raw


@cache
def _add_runtime() -> None:
    """Let compiled code find numba's runtime, as numba itself does before it compiles."""
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _is_plain(module: Any) -> bool:
    """Return whether compiled code calls only Python and numba's runtime, which exist without the rest of numba."""
    named = (each.name for each in (*module.functions, *module.global_variables) if each.is_declaration)
    return all(_PLAIN_SYMBOL.match(name) for name in named)


def _described(type_: Any) -> tuple[object, ...]:
    """Return a type as plain values: the name of a named tuple does not determine its fields."""
    return str(type_), getattr(type_, "fields", ()), *map(_described, getattr(type_, "types", ()))


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of bits set in a uint64."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the index of the lowest set bit of a uint64; 64 if none is set."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@intrinsic
def prefetch(typing_context: Any, words: Any, index: Any) -> Any:
    """Have the processor fetch ``words[index]``, of one dimension, into its cache for writing, and wait for nothing.

    An index beyond the array is harmless.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        # For writing, into all caches, data.
        builder.call(function, [place, *(number(each) for each in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(words, types.int64), build
