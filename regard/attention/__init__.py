"""The heart: one socket, into which scores, spans and weightings are put."""

from regard.attention.attention import (
    Attention,
    Heads,
    Sockets,
    attentions_in,
    extend,
    name_columns,
    stamped,
    turn_around,
)
from regard.attention.parts import EACH, OWN, READ, Attended, Memory, Part, Role, Score, Span, View, Weighting, Window
from regard.attention.recording import Recorded, Records, fitting, is_hidden, is_recording, recording, unrecorded
from regard.attention.scores import SCORES
from regard.attention.spans import SPANS
from regard.attention.weightings import WEIGHTINGS

__all__ = [
    "EACH", "OWN", "READ", "SCORES", "SPANS", "WEIGHTINGS", "Attended", "Attention", "Heads", "Memory", "Part",
    "Recorded", "Records", "Role", "Score", "Sockets", "Span", "View", "Weighting", "Window", "attentions_in", "extend",
    "fitting", "is_hidden", "is_recording", "name_columns", "recording", "stamped", "turn_around", "unrecorded",
]  # fmt: skip
