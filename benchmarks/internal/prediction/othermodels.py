"""Predicts times by models of scikit-learn, as a comparison.

Standard input is a CSV file with one line per point: the fold, batch size, operations, parameters, CPU, memory and seconds. Each
point is predicted by models that have learned the points of the other folds. Standard output is a CSV file with the names of the models and,
for each point, one prediction in seconds per model.
"""
import csv
import sys

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TREES = 200
SHORTEST = 1e-3     # seconds; some models of seconds predict less than nothing


def gaussian():
    kernel = ConstantKernel() * Matern(length_scale=2, length_scale_bounds=(.3, 100), nu=1.5) + WhiteKernel(.1)
    return GaussianProcessRegressor(kernel, normalize_y=True)


MODELS = {
    "extremely randomised trees": lambda: ExtraTreesRegressor(TREES, max_features=.5, random_state=1),
    "random forest": lambda: RandomForestRegressor(TREES, max_features=.5, random_state=1),
    "gradient boosting": lambda: GradientBoostingRegressor(random_state=1),
    "Gaussian process": lambda: make_pipeline(StandardScaler(), gaussian()),
    "linear regression": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 11))),
    "5 nearest neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
}


def features(values):
    """The logarithms of the reported values and of the ratios that growth/predict uses."""
    batch, flops, params = (np.log(values[:, n]) for n in range(3))
    ratios = (flops - params, flops - batch, params + batch, flops - params - batch)
    return np.column_stack((np.log(values), *ratios))


def predict(fold, x, seconds, make, of_seconds):
    target = seconds if of_seconds else np.log(seconds)
    predicted = np.empty(len(x))
    for n in np.unique(fold):
        left = fold == n
        predicted[left] = make().fit(x[~left], target[~left]).predict(x[left])
    return np.maximum(predicted if of_seconds else np.exp(predicted), SHORTEST)


def main():
    rows = np.array([[float(value) for value in row] for row in csv.reader(sys.stdin)])
    fold, x, seconds = rows[:, 0], features(rows[:, 1:6]), rows[:, 6]
    columns = {}
    for name, make in MODELS.items():
        columns[name] = predict(fold, x, seconds, make, of_seconds=False)
        columns[name + " of seconds"] = predict(fold, x, seconds, make, of_seconds=True)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(columns)
    out.writerows(zip(*(map(repr, map(float, column)) for column in columns.values())))


if __name__ == "__main__":
    main()
