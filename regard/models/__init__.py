"""Whole networks. One file a row: a function (columns, *, settings) whose keyword-only signature is its config."""

from regard.models.bidirectional_language_model import bidirectional_language_model
from regard.models.build import build_attention
from regard.models.captioner import captioner
from regard.models.causal_classifier import causal_classifier
from regard.models.cipher_gan import cipher_gan
from regard.models.classifier import classifier
from regard.models.cold_fusion import cold_fusion
from regard.models.deliberation import deliberation
from regard.models.document_vectors import pv_dbow, pv_dm
from regard.models.frequency_analysis import frequency_analysis
from regard.models.hierarchical import hierarchical
from regard.models.label_model import LabelModel
from regard.models.language_model import language_model
from regard.models.many_to_many import many_to_many
from regard.models.masked_language_model import masked_language_model
from regard.models.memory_network import memory_network
from regard.models.model import ROUTE, Generator, Model
from regard.models.neural_turing_machine import neural_turing_machine
from regard.models.next_sentence import next_sentence
from regard.models.one_to_many import one_to_many
from regard.models.pair_classifier import pair_classifier
from regard.models.pair_encoder import pair_encoder
from regard.models.phrase_based import PhraseBased, phrase_based
from regard.models.reader import reader
from regard.models.sequence_regressor import sequence_regressor
from regard.models.settings import AttentionSettings
from regard.models.tagger import tagger
from regard.models.translator import Translator, translator
from regard.models.two_pass import two_pass
from regard.models.word_vectors import cbow, skip_gram
from regard.registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    {
        "bidirectional_language_model": bidirectional_language_model,
        "captioner": captioner,
        "causal_classifier": causal_classifier,
        "cbow": cbow,
        "cipher_gan": cipher_gan,
        "classifier": classifier,
        "cold_fusion": cold_fusion,
        "deliberation": deliberation,
        "frequency_analysis": frequency_analysis,
        "hierarchical": hierarchical,
        "language_model": language_model,
        "many_to_many": many_to_many,
        "masked_language_model": masked_language_model,
        "memory_network": memory_network,
        "next_sentence": next_sentence,
        "one_to_many": one_to_many,
        "pair_classifier": pair_classifier,
        "pair_encoder": pair_encoder,
        "neural_turing_machine": neural_turing_machine,
        "phrase_based": phrase_based,
        "pv_dbow": pv_dbow,
        "pv_dm": pv_dm,
        "reader": reader,
        "sequence_regressor": sequence_regressor,
        "skip_gram": skip_gram,
        "tagger": tagger,
        "translator": translator,
        "two_pass": two_pass,
    },
)

__all__ = [
    "MODELS", "ROUTE", "AttentionSettings", "Generator", "LabelModel", "Model", "PhraseBased", "Translator",
    "build_attention",
]  # fmt: skip
