"""Pieces of texts without the tokenizer that learnt them: byte pair encoding, unigrams, words and characters."""

import heapq
import math
import operator
import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BOS, _UNK = 1, 3
_SPACE = "\u2581"
_ESCAPED = {one: f"\ue0fe{number}" for number, one in enumerate(("\ue0fe", _SPACE, "\0"))}  # in this order
_WORD = re.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")
_FIRST = re.compile("(?:^|(?<=\0))[^\0]|\0")  # characters of texts with zeros behind them
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_CUT = 100_000  # words whose pieces are kept
_UNKNOWN = 10.0  # below the least score of a unigram, as sentencepiece has it


def piece_table(kept: Mapping[str, Any]) -> "PieceTable | SentencePieceTable":
    """Return the table of the content of a file of pieces."""
    return SentencePieceTable(kept) if kept["kind"] == "sentencepiece" else PieceTable(kept)


class PieceTable:
    """Texts ↔ ids: subwords (bpe, unigram), words or characters; what has no piece is spelt in bytes."""

    first: Sequence[int] = ()  # ids that every text begins with

    def __init__(self, kept: Mapping[str, Any]) -> None:
        self.kind, self.listed, self.bytes = kept["kind"], kept["pieces"], kept["bytes"]
        self.apart = re.compile(kept["pattern"]) if kept.get("pattern") else None
        self.of_byte = {number: byte for byte, number in enumerate(self.bytes)}
        hidden, reserved = {*range(_UNK + 1), *self.bytes}, [*kept.get("reserved", [])]
        self.ids = {piece: number for number, piece in enumerate(self.listed) if number not in hidden}
        self.longest = max(map(len, self.ids), default=1)
        if scores := kept.get("scores"):
            known = {piece: scores[number] for piece, number in self.ids.items() if number not in reserved}
            self.cutter = PieceCutter(self.kind, known, [self.listed[one] for one in reserved])

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without its end."""
        text = unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))
        if not text:
            return []
        if self.kind == "characters":
            return [one for piece in text for one in self._spelt(piece)]
        if self.kind == "words":
            found = self.apart.findall(" " + text) if self.apart else [text]
            return [one for piece in found for one in self._spelt(piece)]
        for character, code in _ESCAPED.items():
            text = text.replace(character, code)
        marked = _SPACE + text.replace(" ", _SPACE)
        return [one for piece in self.cutter.cut(marked) for one in self._spelt(piece)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        known = [one for one in ids if _UNK < one < len(self.listed)]
        if self.of_byte.keys().isdisjoint(known):
            text = "".join([self.listed[one] for one in known])
        else:
            parts = (bytes([self.of_byte[one]]) if one in self.of_byte else self.listed[one].encode() for one in known)
            text = b"".join(parts).decode(errors="replace")
        if self.kind not in ("bpe", "unigram"):
            return text.removeprefix(" ") if self.kind == "words" else text
        text = text.removeprefix(_SPACE).replace(_SPACE, " ")
        if "\ue0fe" not in text:
            return text
        names = {code: character for character, code in _ESCAPED.items()}
        return re.sub("|".join(names), lambda found: names[found.group()], text)

    def _spelt(self, piece: str) -> list[int]:
        known = self.ids.get(piece)
        return [known] if known is not None else [self.bytes[byte] for byte in piece.encode()]


class SentencePieceTable:
    """Texts ↔ ids as a SentencePiece model of another program has them.

    Texts are normalised by its rules; what has no piece is <unk>, or spelt in bytes where the model does so.
    """

    def __init__(self, kept: Mapping[str, Any]) -> None:
        self.listed: list[str] = kept["pieces"]
        self.ids = {piece: number for number, piece in enumerate(self.listed) if number != _BOS}
        self.ids.update({self.listed[number]: number for number in range(_UNK + 1) if number != _BOS})
        self.of_byte = {int(number): byte for number, byte in kept["bytes"].items()}
        self.unwritten, self.codes = {*kept["unwritten"]}, kept["codes"]
        self.first: Sequence[int] = kept["before"]
        self.byte_fallback, self.prefix, self.extra_spaces = (
            kept[name] for name in ("byte_fallback", "prefix", "extra_spaces")
        )
        self.rules = NormalisingRules(kept["rules"], kept["defined"])
        same = {piece: piece for piece in self.listed}  # a text that stands in both is kept once
        scores = {same.get(piece, piece): score for piece, score in kept["scores"].items()}
        self.cutter = PieceCutter(kept["algorithm"], scores, kept["defined"])
        self.longest = max(map(len, self.ids))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without its end."""
        ids, text, unknown = [*self.first], _SURROGATE.sub("\ufffd", text), ""
        if self.codes and text.startswith(">>") and (end := text.find("<<") + 2) > 1:
            ids.append(self.ids.get(text[:end], _UNK))
            text = text[end:]
        for piece in self.cutter.cut(self._normalised(text)):
            known = piece in self.cutter.scores or piece in self.cutter.reserved
            if not known and not self.byte_fallback:
                unknown += piece  # unknown pieces side by side are one
                continue
            if unknown:
                ids.append(self.ids.get(unknown, _UNK))
                unknown = ""
            spelt = [piece] if known else [f"<0x{byte:02X}>" for byte in piece.encode()]
            ids += [self.ids.get(one, _UNK) for one in spelt]
        return [*ids, self.ids.get(unknown, _UNK)] if unknown else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        known = (one for one in ids if _UNK < one < len(self.listed) and one not in self.unwritten)
        parts = (bytes([self.of_byte[one]]) if one in self.of_byte else self.listed[one].encode() for one in known)
        text = b"".join(parts).decode(errors="surrogateescape")  # one for each byte that is not UTF-8
        return _SURROGATE.sub("\ufffd", text).replace(_SPACE, " ").strip()

    def _normalised(self, text: str) -> str:
        """Apply the rules, and mark spaces; several count as one, and those at the ends as none."""
        normalised = self.rules.apply(text)
        if not self.extra_spaces:
            normalised = re.sub(" +", " ", normalised.strip(" "))
        if not normalised:
            return ""
        return (_SPACE if self.prefix else "") + normalised.replace(" ", _SPACE)


class NormalisingRules:
    """Texts and what replaces each, the longest first.

    A model has 200,000 of them, and each would be two objects: they lie in two texts, sorted, and are searched there.
    """

    def __init__(self, rules: Sequence[str], defined: Sequence[str]) -> None:
        """`rules`: what is replaced, sorted, and what replaces it, each with a zero behind it; `defined` texts stay."""
        self.replaced, self.replacing = rules
        self.ends, self.replacing_ends = (array("I", map(re.Match.start, re.finditer("\0", one))) for one in rules)
        if len(self.ends) != len(self.replacing_ends):
            raise ValueError("a rule has no text that replaces it")
        self.known: dict[str, str | None] = {piece: piece for piece in defined}  # and each character that was asked for
        sizes = map(operator.sub, self.ends[1:], self.ends)  # each with its zero
        self.longest = max([1, *map(len, defined), *self.ends[:1], *sizes])
        behind = [_FIRST.sub("", self.replaced), *(piece[1:] for piece in defined)]
        self.inner = {*"".join(behind)}  # characters that are not the first of a rule

    def apply(self, text: str) -> str:
        """Return the text with each rule applied, from the left."""
        found, place, size = list[str](), 0, len(text)
        while place < size:
            end = place + 1
            while end < size and end - place < self.longest and text[end] in self.inner:
                end += 1
            while (replacing := self.get(text[place:end])) is None and end > place + 1:
                end -= 1
            found.append(text[place] if replacing is None else replacing)
            place = end
        return "".join(found)

    def get(self, text: str) -> str | None:
        """Return what replaces a text; None: nothing does."""
        if text not in self.known and len(text) == 1:
            self.known[text] = self._searched(text)
        return self.known[text] if text in self.known else self._searched(text)

    def _searched(self, text: str) -> str | None:
        place = bisect_left(range(len(self.ends)), text, key=lambda row: _row(self.replaced, self.ends, row))
        if place == len(self.ends) or _row(self.replaced, self.ends, place) != text:
            return None
        return _row(self.replacing, self.replacing_ends, place)


def _row(texts: str, ends: Sequence[int], row: int) -> str:
    return texts[ends[row - 1] + 1 if row else 0 : ends[row]]


class PieceCutter:
    """Cuts marked texts into pieces, word by word: by merges (bpe), or the likeliest ones (unigram)."""

    def __init__(self, kind: str, scores: Mapping[str, float], reserved: Sequence[str]) -> None:
        self.kind, self.scores, self.reserved = kind, scores, {*reserved}
        names = sorted(reserved, key=len, reverse=True) if kind == "bpe" else []
        self.split = re.compile("(" + "|".join(map(re.escape, names)) + ")") if names else None
        self.longest = max([1, *map(len, scores), *map(len, reserved)])
        self.least, self.most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        self.words: dict[str, list[str]] = {}

    def cut(self, text: str) -> Iterator[str]:
        """Yield the pieces; a character without one stands alone."""
        for part in self.split.split(text) if self.split else [text]:
            if self.split and part in self.reserved:
                yield part
                continue
            for word in _WORD.findall(part):
                if word not in self.words:
                    if len(self.words) >= _MOST_CUT:
                        self.words = {}
                    self.words[word] = self._merged(word) if self.kind == "bpe" else self._likeliest(word)
                yield from self.words[word]

    def _merged(self, word: str) -> list[str]:
        """Byte pair encoding: join the neighbours whose piece has the best score, the leftmost of equals."""
        parts, size = list(word), len(word)
        before, after = [*range(-1, size - 1)], [*range(1, size + 1)]  # the neighbours of each place
        pairs = list[tuple[float, int, str]]()

        def offer(place: int) -> None:
            if place >= 0 and after[place] < size:
                joined = parts[place] + parts[after[place]]
                if (score := self.scores.get(joined)) is not None:
                    heapq.heappush(pairs, (-score, place, joined))

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
            return len(piece.encode()) * self.most - 0.1
        unknown = self.least - _UNKNOWN if len(piece) == 1 else -math.inf
        return self.scores.get(piece, unknown)
