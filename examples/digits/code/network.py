"""A classifier in plain Python: softmax regression, or a network with one hidden layer.

Trained by stochastic gradient descent on the cross entropy; see Goodfellow,
Bengio, Courville, "Deep Learning" (2016), chapters 6 and 8.
"""

import math
import random
from operator import mul
from typing import Any, Dict, List, Sequence, Tuple

CLASSES = 10

Matrix = List[List[float]]
Row = Tuple[List[float], int]


def _matrix(rows: int, columns: int, chance: random.Random) -> Matrix:
    scale = math.sqrt(2 / columns)  # He et al. 2015, for rectified units
    return [[chance.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]


def _times(matrix: Matrix, bias: Sequence[float], x: Sequence[float]) -> List[float]:
    return [b + sum(map(mul, row, x)) for row, b in zip(matrix, bias)]


def _softmax(scores: Sequence[float]) -> List[float]:
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    total = sum(powers)
    return [p / total for p in powers]


class Network:
    """Weights of the layers; without a hidden layer it is softmax regression."""

    def __init__(self, inputs: int, hidden: int, seed: int) -> None:
        chance = random.Random(seed)
        self.hidden = hidden
        self.w1 = _matrix(hidden, inputs, chance)
        self.b1 = [0.0] * hidden
        width = hidden or inputs
        self.w2 = _matrix(CLASSES, width, chance)
        self.b2 = [0.0] * CLASSES

    def forward(self, x: Sequence[float]) -> Tuple[Sequence[float], List[float]]:
        """Return what the hidden layer sees, and the probability of each digit."""
        h: Sequence[float] = x
        if self.hidden:
            h = [a if a > 0 else 0.0 for a in _times(self.w1, self.b1, x)]
        return h, _softmax(_times(self.w2, self.b2, h))

    def learn(self, batch: Sequence[Row], rate: float, l2: float) -> float:
        """Take one step against the gradient of batch; return its mean loss."""
        step = rate / len(batch)
        keep = 1 - rate * l2
        loss = 0.0
        for matrix in (self.w1, self.w2):
            for i, row in enumerate(matrix):
                matrix[i] = [w * keep for w in row]
        for x, label in batch:
            h, p = self.forward(x)
            loss -= math.log(max(p[label], 1e-12))
            p[label] -= 1
            back = [sum(d * row[j] for d, row in zip(p, self.w2)) for j in range(self.hidden)]
            for k, d in enumerate(p):
                g = step * d
                self.w2[k] = [w - g * a for w, a in zip(self.w2[k], h)]
                self.b2[k] -= g
            for j, d in enumerate(back):
                if h[j] > 0:
                    g = step * d
                    self.w1[j] = [w - g * a for w, a in zip(self.w1[j], x)]
                    self.b1[j] -= g
        return loss / len(batch)

    def evaluate(self, rows: Sequence[Row]) -> Tuple[float, float]:
        """Return mean loss and accuracy on rows."""
        loss, right = 0.0, 0
        for x, label in rows:
            _, p = self.forward(x)
            loss -= math.log(max(p[label], 1e-12))
            right += p.index(max(p)) == label
        return loss / len(rows), right / len(rows)

    def state(self) -> Dict[str, Any]:
        return {"hidden": self.hidden, "w1": self.w1, "b1": self.b1, "w2": self.w2, "b2": self.b2}

    @classmethod
    def of(cls, state: Dict[str, Any]) -> "Network":
        network = cls.__new__(cls)
        network.__dict__.update(state)
        return network
