"""Imported once, in the process that the processes of models are forked from: it starts no thread and makes no tensor.

Objects that are there now are never freed: the garbage collector leaves them, so that their pages stay shared.
"""

import gc
import signal

import regard.serve.engine.worker  # noqa: F401  what it imports is what is shared

for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
    signal.signal(number, signal.SIG_IGN)  # it ends with the server, which drains first
gc.collect()
gc.freeze()
