"""Heads of taggers: from the states of words to a tag for each. One file a row, each built with (dim, num_tags)."""

from regard.heads.tagging.crf import CrfHead
from regard.heads.tagging.linear import LinearTagHead
from regard.heads.tagging.tag_head import TagHead
from regard.registry import Registry

TAG_HEADS: Registry[TagHead] = Registry(
    "model.head", {"crf": CrfHead, "linear": LinearTagHead}, within="model={{name: tagger, head: {part}}}"
)
