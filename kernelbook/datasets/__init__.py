"""The papers' data sets: where they are found, how they are checked, what comes back.

None of the downloaded data ships with this package.  A loader looks

1. in the folder that the environment variable `KERNELBOOK_DATA` names,
2. in the user's cache folder,
3. at the data set's canonical address: the download shows its progress, can be interrupted and
   goes on where it stopped, and is kept in the cache,

and otherwise says exactly which file to put where.  Where the checksum of the canonical file is
known it is verified; everywhere the *contents* are verified by their published counts.

Archives are read member by member and never unpacked to disk, so that no member can write
anywhere.
"""

from kernelbook.datasets._fetch import DataUnavailable, data_file
from kernelbook.datasets.generators import make_abs, make_spirals
from kernelbook.datasets.tables import load_coil20, load_ionosphere
from kernelbook.datasets.text import load_7sectors, load_newsgroups, load_webkb

__all__ = [
    "DataUnavailable",
    "data_file",
    "load_7sectors",
    "load_coil20",
    "load_ionosphere",
    "load_newsgroups",
    "load_webkb",
    "make_abs",
    "make_spirals",
]
