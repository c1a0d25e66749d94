"""Build the book as HTML, as PDF, or as EPUB.

`make book` builds what changed; `make strict` starts from nothing and treats every warning as an
error.  (Without `--all` a page that failed before is not read again, and a strict build would pass
falsely.)
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT)]
STRICT = ["--all", "-W", "-n", "--keep-going"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--strict", action="store_true", help="from nothing, every warning an error"
    )
    parser.add_argument("--pdf", action="store_true", help="a PDF by xelatex instead of pages")
    parser.add_argument("--epub", action="store_true", help="one file for readers of books")
    arguments = parser.parse_args()
    if arguments.pdf:
        return build_pdf()
    if arguments.epub:
        return build_epub()
    command = [*BUILD]
    command += STRICT * arguments.strict + ["-q"] * (not arguments.strict)
    print("Building the book (half a minute) ...", flush=True)
    # Jupyter Book greets and says the address three times on stdout; what is wrong goes to stderr.
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    page = ROOT / "_build" / "html" / "index.html"
    if done.returncode or not page.exists():
        sys.exit("The book did not build; the messages above name the page and the line.")
    print(f"\nThe book: {page.as_uri()}")


def build_pdf():
    if missing := [name for name in ("xelatex", "latexmk") if not shutil.which(name)]:
        sys.exit(
            f"{' and '.join(missing)} missing; on Debian: apt-get install latexmk texlive-xetex "
            "texlive-latex-extra texlive-fonts-recommended texlive-fonts-extra fonts-texgyre "
            "fonts-texgyre-math fonts-dejavu xindy"
        )
    log = ROOT / "_build" / "pdf.log"
    log.parent.mkdir(exist_ok=True)
    latex = ROOT / "_build" / "latex"
    shutil.rmtree(latex, ignore_errors=True)  # what a run that failed has left fails the next one
    print("Building the PDF (some minutes) ...", flush=True)
    with log.open("w") as file:
        subprocess.run(
            [*BUILD, "--builder", "pdflatex"], cwd=ROOT, check=False, stdout=file, stderr=file
        )
    pages = latex / "kernelbook.pdf"
    if not pages.exists():
        said = tex_error(latex / "kernelbook.log")
        where = f"The PDF did not build; {log.relative_to(ROOT)} says why."
        sys.exit(f"{where}  TeX stopped at:\n{said}" if said else where)
    print(f"\nThe book: {pages.as_uri()}")


def build_epub():
    print("Building the EPUB (a minute) ...", flush=True)
    done = subprocess.run(
        [*BUILD, "--builder", "custom", "--custom-builder", "epub", "-q"],
        cwd=ROOT,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    book = ROOT / "_build" / "epub" / "kernelbook.epub"
    if done.returncode or not book.exists():
        sys.exit("The EPUB did not build; the messages above name the page and the line.")
    print(f"\nThe book: {book.as_uri()}")


def tex_error(log):
    """TeX's own words for its first error, with the line of its input, or nothing."""
    if not log.exists():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for k, line in enumerate(lines):
        if line.startswith("! "):
            place = next((after for after in lines[k : k + 12] if after.startswith("l.")), "")
            return f"{line}\n{place}".strip()
    return ""


if __name__ == "__main__":
    main()
