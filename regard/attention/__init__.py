"""The heart: one socket, into which scores, spans and weightings are put."""

from regard.attention.attention import Attention, extend
from regard.attention.multihead import Heads
from regard.attention.parts import Attended, Memory, Part, Score, Span, View, Weighting, Window
from regard.attention.recording import is_recording, recording
from regard.attention.scores import SCORES
from regard.attention.sockets import Sockets
from regard.attention.spans import SPANS
from regard.attention.weightings import WEIGHTINGS

__all__ = [
    "SCORES", "SPANS", "WEIGHTINGS", "Attended", "Attention", "Heads", "Memory", "Part", "Score", "Sockets", "Span",
    "View", "Weighting", "Window", "extend", "is_recording", "recording",
]  # fmt: skip
