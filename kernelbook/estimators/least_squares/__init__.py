"""What the G-RLS learners share: `estimators.grls` and `estimators.grls_cv` are thin above it.

| file | holds |
|---|---|
| `learner` | `GRLS`: sample → method → solution → fitted attributes, and predictions |
| `blocks` | a fit by sums over blocks of rows, step by step |
| `stream` | `StreamingLearner`: chunks, Dask collections, and Fourier in memory, by such sums |
| `effects` | components, tests, residuals, intervals, draws and the summary of a regressor |
| `slopes` | its derivatives, and their averages |
| `tuning` | `tune`: parameters chosen on the sample before the fit |
| `progress` | progress bars |
| `docs` | the paragraphs that the learners' docstrings share |
"""
