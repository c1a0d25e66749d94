"""The parts of the experiment `keep`: nine small comparisons, and what they share.

| file | compares |
|---|---|
| `effects` | estimates of an effect and their intervals |
| `forecast` | forecasts of the Mauna Loa record |
| `plates` | thin plates and other kernels; few basis functions beside free features |
| `trends` | units, sizes, useless features |
"""
