"""The heart: one socket, into which scores, spans and weightings are put."""

from regard.attention.attention import Attention, Sockets, extend, name_columns, stamped, turn_around
from regard.attention.parts import EACH, OWN, Attended, Memory, Role, Score, Span, View, Weighting
from regard.attention.recording import Recorded, Records, fitting, is_recording, recording, unrecorded
from regard.attention.scores import SCORES
from regard.attention.spans import SPANS
from regard.attention.weightings import WEIGHTINGS

__all__ = [
    "EACH", "OWN", "SCORES", "SPANS", "WEIGHTINGS", "Attended", "Attention", "Memory", "Recorded", "Records", "Role",
    "Score", "Sockets", "Span", "View", "Weighting", "extend", "fitting", "is_recording", "name_columns", "recording",
    "stamped", "turn_around", "unrecorded",
]  # fmt: skip
