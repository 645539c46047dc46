# Read by the other scripts. All nodes see this directory and SHARED; LOCAL is a disk of each node.

# The run: a name, the puzzle, and how many hosts keep it.
RUN=${RUN:-tiles}
PUZZLE=(tiles -o rows=3 -o columns=4)
HOSTS=2

# The node of the coordinator and its Redis. Its data directory stays there, so the job must come back to it.
NODE=${NODE:?set NODE to the node of the coordinator}
PORT=${PORT:-16379}

# Small files that all nodes read: the password and the URL of Redis, which nobody else may read.
SHARED=${SHARED:-$HOME/hakoiri-$RUN}
# IMPORTANT: a directory that outlives a job. A $TMPDIR that is removed with the job takes the run with it.
LOCAL=${LOCAL:-/scratch/$USER/hakoiri-$RUN}

umask 077
