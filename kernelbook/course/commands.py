"""`kernelbook course`: set up, release, grade, report, look again."""

from pathlib import Path

import click

__all__ = ["course"]


def _folder(default, text):
    path = click.Path(file_okay=False, path_type=Path)
    return {"default": default, "type": path, "show_default": default is not None, "help": text}


assignments_option = click.option(
    "--assignments", **_folder(None, "Folder of the masters; by default this checkout's.")
)
course_option = click.option(
    "--course", "root", **_folder("course", "Folder with the gradebook and all that is written.")
)


def _say(error):
    """An error of ours, as one sentence; an error in our code keeps its traceback."""
    return click.ClickException(str(error))


@click.group(invoke_without_command=True)
@course_option
@assignments_option
@click.pass_context
def course(context, root, assignments):
    """Hand out assignments, grade them, report scores.

    \b
    kernelbook course                                     an overview
    kernelbook course init                                a roster and due dates to fill in
    kernelbook course release grls --to release           what students get
    kernelbook course grade grls submissions --dry-run    what would be graded
    kernelbook course grade grls submissions              grade; again, to go on
    kernelbook course exam midterm --to exams             an exam, with solutions and rubric
    """
    if context.invoked_subcommand is None:
        from kernelbook.course.assignment import find_assignments, load, names
        from kernelbook.course.overview import overview

        try:
            folder = find_assignments(assignments)
            click.echo(overview(root.resolve(), [load(n, folder) for n in names(folder)]))
        except (LookupError, OSError, RuntimeError, ValueError) as error:
            raise _say(error) from None


@course.command("list")
@assignments_option
def list_(assignments):
    """Show the assignments, their points and their questions.

    \b
    kernelbook course list
    """
    from kernelbook.course.assignment import find_assignments, load, names

    try:
        folder = find_assignments(assignments)
    except FileNotFoundError as error:
        raise _say(error) from None
    for name in names(folder):
        a = load(name, folder)
        auto, total = sum(q.points for q in a.questions), sum(a.points.values())
        click.echo(f"{a.number}  {name:<10}{total:>4g} points, {auto:g} by machine  {a.title}")


@course.command(short_help="Write a roster and settings to fill in.")
@course_option
@assignments_option
def init(root, assignments):
    """Write roster.csv and course.toml into the course's folder, to fill in; keeps what is there.

    \b
    kernelbook course init --course course
    """
    from kernelbook.course.assignment import find_assignments, names
    from kernelbook.course.settings import template

    try:
        listed = names(find_assignments(assignments))
    except FileNotFoundError as error:
        raise _say(error) from None
    root.mkdir(parents=True, exist_ok=True)
    texts = {"roster.csv": "id,name,email,extension,number\n", "course.toml": template(listed)}
    for name, text in texts.items():
        path = root / name
        if path.exists():
            click.echo(f"kept: {path}")
        else:
            path.write_text(text, encoding="utf-8")
            click.echo(f"written: {path}")


@course.command(short_help="Write the students' versions.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--to", **_folder("release", "Where the students' notebooks are written."))
@assignments_option
def release(names, to, assignments):
    """Write the students' versions of assignments: no solutions, no rubrics, no outputs.

    They are generated: never edit them, change the master and release again.

    \b
    kernelbook course release kernels grls --to release
    """
    from kernelbook.course.assignment import load
    from kernelbook.course.release import release as write

    for name in names:
        try:
            path = write(load(name, assignments), to)
        except (LookupError, FileNotFoundError) as error:
            raise _say(error) from None
        click.echo(f"{name}: {path.resolve()}")


@course.command(short_help="Grade a folder of submissions.")
@click.argument("name")
@click.argument("submissions", type=click.Path(exists=True, path_type=Path))
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option(
    "--only", multiple=True, metavar="STUDENT", help="Grade this student; may be repeated."
)
@click.option("--again", is_flag=True, help="Run unchanged submissions, too.")
@click.option("--dry-run", is_flag=True, help="Say what would be graded; run and write nothing.")
@click.option(
    "--unsafe", is_flag=True, help="Run without a sandbox: every submission can do what you can do."
)
@course_option
@assignments_option
def grade(name, submissions, jobs, only, again, dry_run, unsafe, root, assignments):
    """Grade the submissions of assignment NAME in SUBMISSIONS, a folder or a zip file.

    Finds STUDENT/NAME.ipynb, STUDENT/NAME/NAME.ipynb, STUDENT.ipynb and what Moodle and Canvas
    export.  What is graded is written at once, so an interrupted run loses nothing; run the same
    command again to go on.

    \b
    kernelbook course grade grls submissions --dry-run
    kernelbook course grade grls moodle-export.zip --jobs 4
    kernelbook course grade grls submissions --only ada
    """
    from kernelbook.course.assignment import load
    from kernelbook.course.gradebook import Course
    from kernelbook.course.run import grade_folder, plan
    from kernelbook.course.sandbox import SandboxMissing

    try:
        assignment = load(name, assignments)
        if unsafe and not dry_run:
            click.echo("without a sandbox: these submissions can do whatever you can", err=True)
        with Course(root.resolve(), keep=not dry_run) as book:
            if dry_run:
                summary = plan(book, assignment, submissions, only)
            else:
                options = {"jobs": jobs, "again": again, "unsafe": unsafe, "only": only}
                summary = grade_folder(book, assignment, submissions, **options)
    except (LookupError, OSError, RuntimeError, ValueError, SandboxMissing) as error:
        raise _say(error) from None
    click.echo(summary)


@course.command(short_help="Print a row a student, write tables.")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@course_option
@assignments_option
def report(names, root, assignments):
    """Print a row a student; write tables, feedback, and what Moodle and Canvas import.

    Run it again after grading by hand in formgrader, or when the roster or a due date changed.
    Without a NAME, all graded assignments.

    \b
    kernelbook course report grls
    """
    from kernelbook.course.gradebook import Course
    from kernelbook.course.reports.writing import write_reports

    if not (root / "gradebook.db").exists():
        raise click.ClickException(
            f"{root} has no gradebook; grade something first, or name the folder with --course"
        )
    try:
        with Course(root.resolve()) as book:
            click.echo(write_reports(book, names, assignments))
    except (LookupError, OSError, RuntimeError, ValueError) as error:
        raise _say(error) from None


@course.command(short_help="Print the hidden inputs of one student.")
@click.argument("name")
@click.argument("student")
@click.option("--question", metavar="FUNCTION", help="Only the calls of this function.")
@course_option
@assignments_option
def inputs(name, student, question, root, assignments):
    """Print what a student's functions were called with, and the right answers.

    For a contested grade: the inputs are drawn again from the secret, the student and the file.
    They are of no use for the student's next version, which gets others.

    \b
    kernelbook course inputs grls ada --question fit_grls
    """
    import numpy as np

    from kernelbook.course.assignment import load
    from kernelbook.course.gradebook import Course
    from kernelbook.course.grading.inputs import draw_all

    try:
        assignment = load(name, assignments)
        with Course(root.resolve()) as book:
            result = book.stored(name, student)
            if result is None:
                raise LookupError(f"nothing of {student} was graded for {name} in {root}")
            cases = draw_all(assignment, book.secret, result.identity, result.digest)
    except (LookupError, OSError, RuntimeError, ValueError) as error:
        raise _say(error) from None
    if question is not None and question not in cases:
        raise click.ClickException(f"{name} asks for {', '.join(cases)}, not for {question!r}")
    with np.printoptions(precision=17, threshold=10**6, linewidth=100):
        for function, calls in cases.items():
            if question in (None, function):
                for case in calls:
                    click.echo(f"# {function}: {case.about}")
                    for k, argument in enumerate(case.arguments):
                        click.echo(f"argument {k}: {argument!r}")
                    click.echo(f"answer: {case.answer!r}\n")


@course.command(short_help="Write slides for the weeks of the course.")
@click.argument("weeks", nargs=-1, type=int, metavar="[WEEK...]")
@click.option("--to", **_folder("slides", "Where the slides are written."))
@click.option("--book", **_folder(None, "Folder of the chapters; by default this checkout's."))
def slides(weeks, to, book):
    """Write slides: HTML files that need no network, with speaker notes (press N).

    They are made from the chapters: statements, figures and take-aways are slides, the text between
    them and the proofs are notes.  Which chapters belong to a week is read from the page "Teaching
    with this book".  Without a WEEK, all of them.

    \b
    kernelbook course slides --to slides
    kernelbook course slides 5 6 --to slides
    """
    from kernelbook.course.slides import write_slides

    try:
        written = write_slides(to, book, weeks)
    except (LookupError, OSError, ValueError) as error:
        raise _say(error) from None
    click.echo(f"{len(written)} deck{'s' * (len(written) != 1)}: {(to / 'index.html').resolve()}")


@course.command(short_help="Write an exam, with solutions and rubric.")
@click.argument("name", metavar="NAME")
@click.option("--minutes", type=click.IntRange(min=1), default=90, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--question", "chosen", multiple=True, help="Take this question; may be repeated.")
@click.option("--list", "listing", is_flag=True, help="Print the bank; write nothing.")
@click.option("--to", **_folder("exams", "Where the sheets are written."))
@assignments_option
def exam(name, minutes, seed, chosen, listing, to, assignments):
    """Write an exam: a sheet to print, and one with worked solutions and the rubric.

    NAME is midterm or final.  The questions are drawn from the bank, the weeks as even as the time
    allows; the seed also draws their numbers, so the same command writes the same exam again.

    \b
    kernelbook course exam midterm --list
    kernelbook course exam midterm --minutes 75 --seed 2027 --to exams
    kernelbook course exam final --question two-points --question a-plane-for-nothing
    """
    from kernelbook.course.assignment import find_assignments
    from kernelbook.course.exams import choose, read_bank, write_exam

    try:
        bank = read_bank(find_assignments(assignments), name)
        if listing:
            for e in bank.entries:
                click.echo(f"week {e.week:<3}{e.points:>2} points {e.minutes:>3} min  {e.name}")
            return
        known = {entry.name: entry for entry in bank.entries}
        if strange := [q for q in chosen if q not in known]:
            raise LookupError(f"{name} has no question {strange[0]!r}; --list prints their names")
        entries = [known[q] for q in chosen] or choose(bank, minutes, seed)
        paths = write_exam(bank, entries, seed, to)
    except (LookupError, OSError, ValueError) as error:
        raise _say(error) from None
    for path in paths:
        click.echo(path.resolve())
