"""`verify` of an exploration: its layers derived again by the theory, not by the search; and repair.

By the triangle inequality a successor of a configuration in U(N) lies in U(N-1), U(N) or U(N+1) and nowhere else, and
each configuration of U(N) has a neighbour in U(N-1). In a directed puzzle a successor lies in one of the layers up to
U(N+1), and each configuration of U(N) has a predecessor in U(N-1). Together with a start that is alone in U(0) this
makes every layer exactly what it claims to be. Successors come from the puzzle's reference rules in plain Python, not
from the kernel that made the layers.

As many configurations are compared at a time as the memory allows: each comparison reads the layers concerned once.
Layers that hosts keep are read from there and derived here: no host proves its own work.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from hakoiri.coordinator.layers.makers import small_step
from hakoiri.coordinator.layers.search import SearchFigures, first_layer, scratch_search
from hakoiri.coordinator.session.check import KEYS_AT_ONCE, MOST_FAULTS, Check, Moves
from hakoiri.coordinator.session.session import ComputeContext, Session
from hakoiri.errors import DamagedError, Hint
from hakoiri.keys.layout import Key, Keys, ints, key_at
from hakoiri.keys.order import members
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.conformance.pool import disagreement_among
from hakoiri.puzzles.contract import Expansion, Puzzle, numbers_of
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.layers.blocks import chain
from hakoiri.storage.layers.depths import BLOCK_KEYS, DepthTable, Kept, code_of
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, StoredLayer, inside, outside, scratch_store
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.names import BLOCKS, CLOSED, CLOSED_KEY, LAYERS, META, PARTIAL_KEY, number_key
from hakoiri.worker.layers.closed_set import ClosedSet
from hakoiri.worker.layers.kernels import flow_of, merge
from hakoiri.worker.transport.payload import Array


def repair_layers(session: Session) -> None:
    """Repair every damaged layer of an exploration.

    Raises `DamagedError` if the digest of a recomputed layer differs from its record: then something else is wrong.
    """
    store, observer = session.store, session.observer
    _forget_begun(session)
    kept = range(store.kept.first, store.state.depth + 1)
    damaged = {depth: faults for depth in kept if (faults := list(check_layer(store, depth)))}
    _require_older(store, damaged, session.puzzle.undirected)
    if not damaged:
        observer.note("no layer is damaged; nothing to repair")
    for depth, faults in damaged.items():
        observer.note(f"{faults[0]}; computing layer {depth} again")
        _replace_layer(store, depth, _derive(session, depth), session.puzzle)
    # A recomputed layer may be cut into other blocks.
    stored = sum(store.layer_record(depth).stored_bytes for depth in kept)
    stored += DepthTable(store).stored_bytes if store.kept.table else 0
    store.commit(replace(store.state, stored_bytes=stored))


def _require_older(store: RunStore, damaged: Mapping[Depth, list[str]], undirected: bool) -> None:
    """Raise `DamagedError` if something is damaged that follows only from layers whose keys are not kept."""
    if not store.kept.first:
        return
    lost, table = [depth for depth in damaged if depth <= store.kept.first or not undirected], DepthTable(store)
    try:
        for number in table.numbers() if store.kept.table else ():
            table.planes(number)
        store.layer_records()
    except DamagedError as error:
        raise _gone(store, str(error)) from error
    if lost:
        raise _gone(store, damaged[lost[0]][0])


def _gone(store: RunStore, fault: str) -> DamagedError:
    run = store.directory.name
    text = f"{fault}; it cannot be computed again, because older layers are not kept; start a new run"
    return DamagedError(text, Hint("delete", run))


def _forget_begun(session: Session) -> None:
    """Erase a partial layer, so that it is begun again, and segments of older keys, which follow from the layers."""
    store = session.store
    if store.names(META, PARTIAL_KEY):
        session.observer.note(f"restarting layer {store.state.depth + 1}")
        store.erase(META, PARTIAL_KEY)
        store.erase(BLOCKS, number_key(store.state.depth + 1))
        store.commit(store.state)
    Spill(store.directory, store.layout, store.state.depth + 1).clear()
    if store.names(META, CLOSED_KEY):
        store.erase(META, CLOSED_KEY)
        store.erase(CLOSED)
        store.commit(store.state)


def forget_layers(session: Session, first: Depth, figures: type[SearchFigures] = SearchFigures) -> None:
    """Erase all layers from `first` on. Durable on return."""
    store = session.store
    _forget_begun(session)
    if first <= store.state.depth:
        for depth in range(first, store.state.depth + 1):
            store.erase(LAYERS, number_key(depth))
            store.erase(BLOCKS, number_key(depth))
        found, stored = figures(), 0
        for record in map(store.layer_record, range(first)):
            found, stored = found.with_layer(record), stored + record.stored_bytes
        session.commit(replace(store.state, depth=first - 1, stored_bytes=stored, figures=found.as_dict()))


def _derive(session: Session, depth: Depth) -> Keys:
    store, puzzle = session.store, session.puzzle
    if depth == 0:
        return first_layer(puzzle, session.context)
    current = store.layer(depth - 1)
    # Layers older than the previous one matter only if moves cannot be taken back.
    first = max(0, depth - 2) if puzzle.undirected else 0
    older = [StoredLayer(store, each, store.layer_record(each).size) for each in range(first, depth - 1)]
    keys, *_ = small_step(session, current, [HeldLayer([current]), *older], depth)
    return keys


def _replace_layer(store: RunStore, depth: Depth, keys: Keys, puzzle: Puzzle) -> None:
    try:
        expected = store.layer_record(depth).digest
    except DamagedError:
        expected = None
    goals, represented = puzzle.tally(keys)
    record = store.put_layer(depth, keys, goals, None, represented)
    if expected not in (None, record.digest):
        store.discard_staged()
        raise DamagedError(
            f"run {store.directory.name}: recomputed layer {depth} has the digest {record.digest}, expected "
            f"{expected} as in its record; start a new run"
        )
    store.erase(BLOCKS, number_key(depth))
    store.commit(store.state)


def key_set(scratch: RunStore, context: ComputeContext) -> ClosedSet:
    """Return an empty set of keys; what does not fit in memory goes to a scratch store, whose results are erased."""
    scratch.erase_results()
    scratch.commit(scratch.state)
    shares, once = context.shares, context.tuning.merged_at_once
    return ClosedSet(scratch, 0, shares, once, lambda: scratch.commit(scratch.state))


#: Keys of a layer that are compared together with the table of depths.
_AT_ONCE = 1 << 20
#: Configurations checked per layer, without `full`.
SAMPLE_PER_LAYER = 64


class LayersVerifier(Check):
    """Verifies the layers of an exploration by the rules of the puzzle."""

    #: Whether the state has the depth of the nearest goal.
    _has_nearest_goal = True

    def check(self) -> None:
        self._deepest, kept = self.store.state.depth, self.store.kept
        if kept.first:
            self._check_dropped(kept)
        elif self._deepest >= 0 and not np.array_equal(self.store.layer(0), first_layer(self.puzzle, self.context)):
            self.report.fault("layer 0 differs from the starts of the run")
        with ExitStack() as stack:
            together = self.full and not self.puzzle.undirected and not kept.first
            scratch = [stack.enter_context(scratch_store(self.store)) for _ in range(2 if together else 0)]
            #: For a directed puzzle, with `full`: the layers before the present one, and the keys that it leads to.
            self._older = self._reached = key_set(scratch[0], self.context) if together else None
            flow, sums_flow = 0, self.full and SearchFigures.of(self.store.state).exhausted and not kept.first
            # The first kept layer is compared with none before it.
            for depth in self.each(range(kept.first and kept.first + 1, self._deepest + 1), "layers derived again"):
                if together:
                    self._reached = key_set(scratch[1], self.context)
                for keys, successors, counts in self._derived(depth):
                    self._compare(depth, keys, successors, counts)
                    if sums_flow:
                        flow += flow_of(self.puzzle, keys, Expansion(successors, counts.astype(np.uint16)))
                self._look_back(depth)
                if self._older:
                    self._older.add(depth, self._stored(depth))
            if self.report.ok and flow % (1 << 64):
                self.report.mistake("some moves are not reversed by another; set undirected = False")
        self._check_state()

    def _check_dropped(self, kept: Kept) -> None:
        """Check layers whose keys are not kept: with `full` by making all again, and the table of depths by a sample.

        By the kernels, whose samples are compared with the reference rules.
        """
        records, table = self.store.layer_records(), DepthTable(self.store)
        if (file := self.store.table_file) is not None:
            file.require_layers()
            units = file.shape.units
            for block in self.each(range(len(file.heads)), "blocks of the table checked"):
                for unit in range(block * units, block * units + units):
                    # Another process may go on with the run.
                    file.read_unit(unit)
        if kept.table:
            self._check_table(table, records)
        self.report.sampled |= not self.full
        if not self.full:
            return
        with scratch_search(self.context, self.store, keep="frontier") as search:
            for record in self.each(records, "layers made again"):
                search.commit()
                made = search.store.layer_record(record.depth)
                figures = ((each.size, each.goals, each.digest, each.represented) for each in (made, record))
                if len({*figures}) > 1:
                    self.report.fault(
                        f"layer {record.depth} made again has the digest {made.digest}, expected {record}"
                    )
                    return
                entered = kept.table and record.depth < kept.first
                for keys in search.current.chunks(0, _AT_ONCE) if entered else ():
                    if len(wrong := keys[table.codes(keys) != code_of(record.depth)]):
                        self.report.fault(f"the table of depths lacks {key_at(wrong, 0):#x} of layer {record.depth}")
                        return
                if record.depth < self._deepest:
                    search.step()
            self.report.count("layers made again", len(records))

    def _check_table(self, table: DepthTable, records: list[LayerRecord]) -> None:
        """Check the numbers of keys in the table, and for some that the rules lead to the start by way of it."""
        numbers, counts = table.numbers(), np.zeros(4, dtype=np.int64)
        for number in self.each(numbers, "blocks of depths checked"):
            self.control.check()
            counts += np.bincount(table.block(number), minlength=4)
        # As Python's integers, which do not overflow: others may have written the records.
        least, most = np.zeros(4, dtype=object), np.zeros(4, dtype=object)
        for record in records:
            most[code_of(record.depth)] += record.size
            # Layers whose keys are kept may be in the table, too.
            least[code_of(record.depth)] += record.size * (record.depth < self.store.kept.first)
        if (counts[1:] < least[1:]).any() or (counts[1:] > most[1:]).any():
            self.report.fault(
                f"the table of depths has {counts[1:].tolist()} configurations, expected {least[1:].tolist()}"
            )
        random = np.random.default_rng(self.report.seed)
        for number in random.choice(numbers, SAMPLE_PER_LAYER).tolist() if numbers else ():
            self.control.check()
            # Others may have written a block without any.
            for place in random.permutation(np.flatnonzero(table.block(number)))[:1].tolist():
                self._walk(table, number * BLOCK_KEYS + place)

    def _walk(self, table: DepthTable, key: Key) -> None:
        """Report a fault unless a way as long as its depth leads from a number to the start, by the reference rules."""
        if key >= numbers_of(self.puzzle):
            self.report.fault(f"the table of depths has {key:#x}, which is not a configuration")
            return
        if (ranking := self.puzzle.ranking) is not None:
            key = key_at(ranking.keys(np.array([key], dtype=np.uint64)), 0)
        at, depth, code = key, 0, int(table.codes(self.puzzle.keys([key]))[0])
        while not self.puzzle.are_starts(self.puzzle.keys([at]))[0]:
            near = self.puzzle.keys(sorted(*self._successors_of(self.puzzle.keys([at]))))
            nearer = near[table.codes(near) == code_of(code + 1 - depth)]
            if not len(nearer) or depth > self._deepest:
                self.report.fault(f"no way leads from {key:#x} to the start by the table of depths")
                return
            at, depth = key_at(nearer, 0), depth + 1
        self.report.count("configurations")
        if code_of(depth) != code:
            self.report.fault(f"{key:#x} is {depth} moves from the start, which is not what the table of depths says")

    def _samples(self, depth: Depth) -> Iterator[Keys]:
        if self.full:
            return self.store.blocks(depth)
        sample, size = self.audited[depth].sample, self.store.layer_record(depth).size
        self.report.sampled = self.report.sampled or size > len(sample)
        return iter([sample])

    def _derived(self, depth: Depth) -> Iterator[Moves]:
        """Yield the keys of a layer to check, with their moves."""
        size = self.store.layer_record(depth).size
        return self._in_batches(self._samples(depth), size if self.full else min(size, SAMPLE_PER_LAYER))

    def _compare(self, depth: Depth, keys: Keys, successors: Keys, counts: Array) -> None:
        """Check that every move from `keys` ends in a layer that the theory allows, if those are kept."""
        if self.store.kept.first and not self.puzzle.undirected:
            return
        owners = np.repeat(np.arange(len(keys)), counts)
        distinct = merge([successors], [])
        strays = outside(distinct, self._allowed(depth))
        if depth < self._deepest or SearchFigures.of(self.store.state).exhausted:
            self._report_strays(depth, keys, successors, owners, strays)
        else:
            self._look_ahead(depth, keys, successors, owners, strays)
        if depth and self.puzzle.undirected:
            lonely = keys[self._alone(depth - 1, distinct, successors, counts)][:MOST_FAULTS]
            before = self._predecessors(depth, lonely)
            for key in ints(lonely):
                said = f"layer {depth}: {key:#x} has no neighbour in layer {depth - 1}"
                if key in before:
                    self._report_one_way(f"{said}, though something there leads to it", before[key], key)
                else:
                    self.report.fault(said)
        if self._reached and depth < self._deepest:
            reached = inside(outside(distinct, self._reached.layers()), [self._stored(depth + 1)])
            self._reached.add(self._reached.depth, HeldLayer([reached]))

    def _alone(self, depth: Depth, distinct: Keys, successors: Keys, counts: Array) -> Array:
        """Return the indices of the keys, by the counts of their successors, of which none is in layer `depth`."""
        near = members(inside(distinct, [self._stored(depth)]), successors)
        return np.flatnonzero(np.bincount(np.repeat(np.arange(len(counts)), counts)[near], minlength=len(counts)) == 0)

    def _allowed(self, depth: Depth) -> Iterator[Layer]:
        """Yield the layers that may contain successors of layer `depth`, the likeliest first."""
        first = max(0, depth - 1) if self.puzzle.undirected else depth if self._older else 0
        for other in range(min(depth + 1, self._deepest), first - 1, -1):
            yield self._stored(other)
        if self._older:
            yield from self._older.layers()

    def _stored(self, depth: Depth) -> Layer:
        self.store.require_whole(depth)
        return StoredLayer(self.store, depth, self.store.layer_record(depth).size)

    def _report_strays(self, depth: Depth, keys: Keys, successors: Keys, owners: np.ndarray, strays: Keys) -> None:
        astray = members(strays, successors)
        for owner in np.unique(owners[astray])[:MOST_FAULTS].tolist():
            stray = min(ints(successors[astray & (owners == owner)]))
            where = self.store.find(stray)
            place, key = "no layer" if where is None else f"layer {where}", key_at(keys, owner)
            said = f"layer {depth}: {key:#x} leads to {stray:#x}, which is in {place}"
            if where is None or not self.puzzle.undirected or key in self.puzzle.successors(stray):
                self.report.fault(said)
            else:
                self._report_one_way(f"{said} and does not lead back", key, stray)

    def _look_ahead(self, depth: Depth, keys: Keys, successors: Keys, owners: Array, ahead: Keys) -> None:
        """Check successors beyond the last layer of a limited search: kernel against rules, and moves back."""
        ahead = ahead[self.sample(len(ahead), SAMPLE_PER_LAYER, depth)]
        for begin in range(0, len(ahead), KEYS_AT_ONCE):
            self.control.check()
            batch = ahead[begin : begin + KEYS_AT_ONCE]
            found = dict(zip(ints(batch), self._successors_of(batch), strict=True))
            for place in np.flatnonzero(members(batch, successors)).tolist() if self.puzzle.undirected else []:
                key, after = key_at(keys, owners[place]), key_at(successors, place)
                if key not in found[after]:
                    said = f"layer {depth}: {key:#x} leads to {after:#x}, which does not lead back"
                    self._report_one_way(said, key, after)

    def _report_one_way(self, said: str, key: Key, successor: Key) -> None:
        """Report a move without its inverse, a mistake of the puzzle: of its kernel, or of `undirected`."""
        wrong = disagreement_among(self.puzzle, (key, successor))
        self.report.mistake(wrong or f"{said}; set undirected = False")

    def _look_back(self, depth: Depth) -> None:
        """For a directed puzzle, check that each key of a layer has a predecessor in the layer before.

        With `full` that layer is the one after `depth`, whose predecessors have just been expanded.
        """
        missing: Iterator[Keys] = iter(())
        if self._reached and depth < self._deepest:
            reached, depth = self._reached.layers(), depth + 1
            missing = (outside(keys, reached) for keys in self.store.blocks(depth))
        elif depth and not self._reached and not self.puzzle.undirected:
            keys, *_ = self._samples(depth)
            found = self._predecessors(depth, keys)
            missing = iter([keys[[key not in found for key in ints(keys)]]])
        for keys in missing:
            self.control.check()
            if len(keys):
                self.report.fault(f"layer {depth}: nothing in layer {depth - 1} leads to {key_at(keys, 0):#x}")
                break

    def _predecessors(self, depth: Depth, keys: Keys) -> dict[Key, Key]:
        """Return, by the kernel, a predecessor in the layer before for each of a few keys that has one."""
        found: dict[Key, Key] = {}
        for block in self._before(depth, keys) if len(keys) else ():
            self.control.check()
            successors, counts = self.puzzle.expand(block)
            owners = np.repeat(np.arange(len(block)), counts)
            for place in np.flatnonzero(members(keys, successors)).tolist():
                found.setdefault(key_at(successors, place), key_at(block, owners[place]))
            if len(found) == len(keys):
                break
        return found

    def _before(self, depth: Depth, keys: Keys) -> Iterator[Keys]:
        """Yield the keys of the layer before; keys found by backward moves from `keys` come first."""
        if isinstance(self.puzzle, Reversible):
            near = merge([self.puzzle.unmove(keys).successors], [])
            yield near[self.store.contains(depth - 1, near)]
        yield from self.store.blocks(depth - 1)

    def _check_state(self) -> None:
        records = self.store.layer_records()
        state, found = self.store.state, SearchFigures.of(self.store.state)
        if (total := sum(record.size for record in records)) != found.configurations:
            self.report.fault(f"the layers have {total} configurations, but {found.configurations} in the state")
        if (total := sum(record.represented for record in records)) != (found.represented or 0):
            self.report.fault(f"the layers represent {total} configurations, but {found.represented} in the state")
        rules, counted = self.puzzle.unmerged or self.puzzle, found.represented or found.configurations
        if self._has_nearest_goal and found.exhausted and rules.total is not None and rules.several_starts is None:
            self.report.count("configurations in all, as many as the puzzle has", counted)
            if counted != rules.total:
                self.report.fault(f"the run has {counted:,} configurations in all, but the puzzle {rules.total:,}")
        for record in records:
            if record.depth not in self.audited:
                continue
            goals, represented = self.audited[record.depth].tally
            if goals != record.goals:
                self.report.fault(f"layer {record.depth} has {goals} goals, but {record.goals} in its record")
            # Earlier versions did not count the configurations of a class.
            if represented != record.represented and found.represented:
                said = f"{represented:,} configurations, but {record.represented:,} in its record"
                self.report.fault(f"layer {record.depth} represents {said}")
        nearest = next((record.depth for record in records if record.goals), None)
        if self._has_nearest_goal and nearest != found.goal_depth:
            self.report.fault(f"the nearest goal is in layer {nearest}, but {found.goal_depth} in the state")
        if state.status == "complete" and state.digest != chain(record.digest for record in records):
            # A repair derives it from the layers, so it helps only if they are sound.
            wrong = self.report.damage if self.report.ok else self.report.fault
            wrong("the digest of the run is not that of its layers")
