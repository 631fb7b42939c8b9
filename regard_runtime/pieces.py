"""Pieces of texts without the tokenizer that learnt them: byte pair encoding, unigrams, words and characters."""

import heapq
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

_UNK = 3
_SPACE = "\u2581"
_ESCAPED = {one: f"\ue0fe{number}" for number, one in enumerate(("\ue0fe", _SPACE, "\0"))}  # in this order
_WORD = re.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")
_MOST_CUT = 100_000  # words whose pieces are kept
_UNKNOWN = 10.0  # below the least score of a unigram, as sentencepiece has it


class PieceTable:
    """Texts ↔ ids: subwords (bpe, unigram), words or characters; what has no piece is spelt in bytes."""

    def __init__(self, kept: Mapping[str, Any]) -> None:
        """Take the content of a file of pieces."""
        self.kind, self.listed, self.bytes = kept["kind"], kept["pieces"], kept["bytes"]
        self.apart = re.compile(kept["pattern"]) if kept.get("pattern") else None
        self.of_byte = {number: byte for byte, number in enumerate(self.bytes)}
        reserved = kept.get("reserved", [])
        hidden = {*range(_UNK + 1), *self.bytes, *(reserved if self.kind == "bpe" else [])}
        self.ids = {piece: number for number, piece in enumerate(self.listed) if number not in hidden}
        self.scores: list[float] = kept.get("scores", [])
        names = sorted((self.listed[one] for one in reserved), key=len, reverse=True)
        self.reserved = {self.listed[one]: one for one in reserved}
        self.split = re.compile("(" + "|".join(map(re.escape, names)) + ")") if names else None
        self.longest = max(map(len, self.ids), default=1)
        known = [self.scores[one] for one in self.ids.values()] if self.kind == "unigram" else [0.0]
        self.least, self.most = min(known), max(known)
        self.cut: dict[str, list[int]] = {}  # of words

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without its end."""
        text = unicodedata.normalize("NFC", re.sub("[\ud800-\udfff]", "\ufffd", text))
        if not text:
            return []
        if self.kind == "characters":
            return [one for piece in text for one in self._spelt(piece)]
        if self.kind == "words":
            found = self.apart.findall(" " + text) if self.apart else [text]
            return [one for piece in found for one in self._spelt(piece)]
        for character, code in _ESCAPED.items():
            text = text.replace(character, code)
        marked, ids = _SPACE + text.replace(" ", _SPACE), list[int]()
        for part in self.split.split(marked) if self.split and self.kind == "bpe" else [marked]:
            if part in self.reserved and self.kind == "bpe":
                ids.append(self.reserved[part])
                continue
            for word in _WORD.findall(part):
                if word not in self.cut:
                    if len(self.cut) >= _MOST_CUT:
                        self.cut = {}
                    pieces = self._merged(word) if self.kind == "bpe" else self._likeliest(word)
                    self.cut[word] = [one for piece in pieces for one in self._spelt(piece)]
                ids += self.cut[word]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        known = (one for one in ids if _UNK < one < len(self.listed))
        parts = (bytes([self.of_byte[one]]) if one in self.of_byte else self.listed[one].encode() for one in known)
        text = b"".join(parts).decode(errors="replace")
        if self.kind not in ("bpe", "unigram"):
            return text.removeprefix(" ") if self.kind == "words" else text
        text = text.removeprefix(_SPACE).replace(_SPACE, " ")
        names = {code: character for character, code in _ESCAPED.items()}
        return re.sub("|".join(names), lambda found: names[found.group()], text)

    def _spelt(self, piece: str) -> list[int]:
        known = self.ids.get(piece)
        return [known] if known is not None else [self.bytes[byte] for byte in piece.encode()]

    def _merged(self, word: str) -> list[str]:
        """Byte pair encoding: join the neighbours whose piece has the best score, the leftmost of equals."""
        parts, size = list(word), len(word)
        before, after = [*range(-1, size - 1)], [*range(1, size + 1)]  # the neighbours of each place
        pairs = list[tuple[float, int, str]]()

        def offer(place: int) -> None:
            if place >= 0 and after[place] < size:
                joined = parts[place] + parts[after[place]]
                if (number := self.ids.get(joined)) is not None:
                    heapq.heappush(pairs, (-self.scores[number], place, joined))

        for place in range(size - 1):
            offer(place)
        while pairs:
            _, place, joined = heapq.heappop(pairs)
            other = after[place]
            if not parts[place] or other >= size or parts[place] + parts[other] != joined:
                continue  # one of the two was joined meanwhile
            parts[place], parts[other], after[place] = joined, "", after[other]
            if after[other] < size:
                before[after[other]] = place
            offer(before[place])
            offer(place)
        return [part for part in parts if part]

    def _likeliest(self, word: str) -> list[str]:
        """The segmentation of the highest probability under a unigram model."""
        best, starts = [0.0] + [-math.inf] * len(word), [0] * (len(word) + 1)
        for start in range(len(word)):
            for end in range(start + 1, min(start + self.longest, len(word)) + 1):
                piece = word[start:end]
                score = self._score(piece)
                if best[start] + score > best[end]:
                    best[end], starts[end] = best[start] + score, start
        parts, end = list[str](), len(word)
        while end:
            parts.append(word[starts[end] : end])
            end = starts[end]
        return parts[::-1]

    def _score(self, piece: str) -> float:
        if piece in self.reserved:
            return len(piece) * self.most - 0.1
        number = self.ids.get(piece)
        if number is None:
            return self.least - _UNKNOWN if len(piece) == 1 else -math.inf
        return self.scores[number]
