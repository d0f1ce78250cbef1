"""Writes the files in testdata/models: python models.py, with scikit-learn and joblib installed.

state.pt is what torch.save writes for a state_dict, made without PyTorch.
"""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict

import joblib
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

x, y = load_iris(return_X_y=True)
model = LogisticRegression(max_iter=321).fit(x, y)
with open("models/logistic.pkl", "wb") as f:
    pickle.dump(model, f)
joblib.dump(model, "models/logistic.joblib")
joblib.dump(model, "models/logistic-zlib.joblib", compress=3)
joblib.dump(make_pipeline(StandardScaler(), RandomForestClassifier(2, max_depth=2)).fit(x, y), "models/pipeline.joblib")

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": utils})


class Storage:
    def __init__(self, kind, key, count):
        self.kind, self.key, self.count = kind, key, count


class Tensor:
    def __init__(self, storage, shape):
        self.storage, self.shape = storage, shape

    def __reduce__(self):
        return utils._rebuild_tensor_v2, (self.storage, 0, self.shape, (1,) * len(self.shape), False, OrderedDict())


def rebuild(*args):
    pass


def kind(name):
    made = type(name, (), {"__module__": "torch"})
    setattr(torch, name, made)
    return made


rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
utils._rebuild_tensor_v2 = rebuild
single, brain = kind("FloatStorage"), kind("BFloat16Storage")


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            return ("storage", obj.kind, obj.key, "cpu", obj.count)


out = io.BytesIO()
Pickler(out, protocol=2).dump(
    OrderedDict([("layer.weight", Tensor(Storage(single, "0", 40), (10, 4))), ("layer.bias", Tensor(Storage(brain, "1", 10), (10,)))])
)
with zipfile.ZipFile("models/state.pt", "w") as z:
    z.writestr("state/data.pkl", out.getvalue())
    z.writestr("state/data/0", bytes(160))
    z.writestr("state/data/1", bytes(20))
    z.writestr("state/version", "3\n")
