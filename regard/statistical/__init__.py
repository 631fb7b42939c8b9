"""Models from counts rather than gradients: word alignments, lexicons, phrase tables, n-grams, a bag of words."""

from typing import Any

from regard.registry import Registry
from regard.statistical.alignment_model import AlignmentModel
from regard.statistical.diagonal import Diagonal
from regard.statistical.hmm import Hmm
from regard.statistical.ibm1 import Ibm1
from regard.statistical.ibm2 import Ibm2

ALIGNERS: Registry[AlignmentModel[Any]] = Registry(
    "aligner",
    {
        "diagonal": Diagonal,
        "hmm": Hmm,
        "ibm1": Ibm1,
        "ibm2": Ibm2,
    },
)
