"""Imports of the process that model processes are forked from; it starts no thread and makes no tensor.

It also reads the default settings and finds an engine, so that the models that check settings are made once: 7 MB of
each process.
The garbage collector ignores all objects that exist now, so that their pages stay shared.
"""

import gc
import signal

import regard.serve.engine.worker  # noqa: F401  its imports are shared
from regard.config import read_settings
from regard.experiment import Experiment
from regard.predictor.engines import engine_named

for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
    signal.signal(number, signal.SIG_IGN)  # it ends with the server, after draining
read_settings(Experiment, {})
engine_named("runtime")
gc.collect()
gc.freeze()
