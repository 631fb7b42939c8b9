"""Imports of the process that model processes are forked from; it starts no thread and makes no tensor.

The garbage collector ignores all objects that exist now, so that their pages stay shared.
"""

import gc
import signal

import regard.serve.engine.worker  # noqa: F401  its imports are shared

for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
    signal.signal(number, signal.SIG_IGN)  # it ends with the server, after draining
gc.collect()
gc.freeze()
