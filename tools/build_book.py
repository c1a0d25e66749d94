"""Build the book as HTML.

`make book` builds what changed; `make strict` starts from nothing and treats every warning as an
error.  (Without `--all` a page that failed before is not read again, and a strict build would pass
falsely.)
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STRICT = ["--all", "-W", "-n", "--keep-going"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--strict", action="store_true", help="from nothing, every warning an error"
    )
    arguments = parser.parse_args()
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT)]
    command += STRICT * arguments.strict + ["-q"] * (not arguments.strict)
    print("Building the book (half a minute) ...", flush=True)
    # Jupyter Book greets and says the address three times on stdout; what is wrong goes to stderr.
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    page = ROOT / "_build" / "html" / "index.html"
    if done.returncode or not page.exists():
        sys.exit("The book did not build; the messages above name the page and the line.")
    print(f"\nThe book: {page.as_uri()}")


if __name__ == "__main__":
    main()
