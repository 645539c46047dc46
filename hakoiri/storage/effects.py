"""Effects outside LMDB, and the commit that precedes each.

IMPORTANT: nothing outside the commit happens before the commit that makes it true. A kill between the two then leaves
something too much, which the next session removes, and never something too little. `tests/support/effects.py` watches
the functions named here, and fails if the ledger on disk still names what goes; a new effect belongs in this table.
"""

#: For each function that removes or renames: what goes, and the commit, rename or lock that stands on disk before.
EFFECTS = {
    "storage.engine.files:Given.write": "the file before: a whole new file, synced",
    "storage.engine.files:Given.unlink": "see its callers",
    "storage.engine.files:Given.remove_folder": "see its callers",
    "storage.engine.files:replaced": "the file before: a whole new file, synced",
    "storage.engine.files:remove_parts": "parts of files: their writers hold no lock any more",
    "storage.engine.pages:DataFile.free": "see its caller",
    "storage.engine.environment:Environment.release": "pages: neither of the last two commits uses them",
    "storage.layers.spill:Spill.keep": "files of merged ranges: the record of the layer under way without them",
    "storage.layers.spill:Spill.restore": "files that the record of the layer under way does not name",
    "storage.layers.spill:Spill.clear": "all files: the layer, or no record of a layer under way",
    "storage.layers.store:scratch_folder": "layers of a question: its lock is free",
    "storage.ledger.ledger:create_run": "a name under construction: the run's first commit",
    "storage.ledger.lock:remove_abandoned": "remains under other names than runs have: no lock, or a rename",
    "storage.ledger.lock:move_restored": "the name of a restored run: the rename of the directory with all runs of it",
    "coordinator.layers.file_maker:FileMaker._list_last": "the table's file: a commit without the record of it",
    "coordinator.layers.file_maker:table_maker": "the table's file: no record of it",
    "coordinator.runs.archive:_Folder.remove_others": "the files of the archive before: the index without them",
    "coordinator.runs.archive:restore_run": "a name under construction: all files of all runs, synced and compared",
    "coordinator.runs.catalogue:cancel_run": "the mark of a queued run: its state, ended",
    "coordinator.runs.catalogue:delete_run": "the names of a run and of its derived runs: the locks of all",
    "coordinator.runs.catalogue:_delete_beside": "certificate and questions: the rename of their run",
    "coordinator.runs.drive:drive": "the mark of a queued run: its state, ended",
    "coordinator.runs.service:_set_aside": "the mark of a queued run: nothing, or others wait behind it",
    "guests.sizes.job:StudySizes._measure": "the run of a member: nothing; a kill before its row repeats it",
    "guests.sizes.job:StudySizes.repair": "the run of a member: nothing, it is repeated",
    "web.routes.runs:_locked": "records of requests: their week is over",
    "web.runs.questions:Questions._begin_now": "a link in place of an answer",
    "worker.hosts.copies:begin_part": "the name of a part under construction: its first commit",
    "worker.hosts.host:Host.perform": "the name of a part: the coordinator's commit without this host",
    "worker.hosts.host:Host.remove_deleted": "a part renamed a day ago",
    # Chunks in Redis: no ledger names them. What was expanded since the last mark is expanded again.
    "coordinator.executors.in_flight:Shared.take_back": "arrays of tasks: all their chunks have landed",
    "coordinator.executors.in_flight:InFlight.send_all": "chunks, and arrays of tasks before: all have landed",
    "coordinator.executors.in_flight:InFlight.take_back": "chunks: their answers are in this process, or not wanted",
    "worker.rq_worker:TakenJob.read": "a job: taken",
    "worker.rq_worker:_joined": "damaged arrays, which the coordinator sends again",
}
