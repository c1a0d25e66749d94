"""What the learners in a basis share: `estimators.primal_svm` and `estimators.incremental_svm`.

| file | holds |
|---|---|
| `classifier` | `BasisClassifier`: parameters and predictions of both |
| `conditioning` | rounding error of the coordinates, and its warnings |
| `early_stopping` | when a growing basis has grown enough: held-out samples and folds |
"""
