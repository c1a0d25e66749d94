"""`kernelbook course`: release, grade, report."""

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


@click.group()
def course():
    """Hand out assignments, grade them, report scores."""


@course.command("list")
@assignments_option
def list_(assignments):
    """Show the assignments, their points and their questions."""
    from kernelbook.course.assignment import find_assignments, load, names

    try:
        folder = find_assignments(assignments)
    except FileNotFoundError as error:
        raise _say(error) from None
    for name in names(folder):
        a = load(name, folder)
        auto, total = sum(q.points for q in a.questions), sum(a.points.values())
        click.echo(f"{a.number}  {name:<10}{total:>4g} points, {auto:g} by machine  {a.title}")


@course.command(short_help="Write the students' versions.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--to", **_folder("release", "Where the students' notebooks are written."))
@assignments_option
def release(names, to, assignments):
    """Write the students' versions of assignments: no solutions, no rubrics, no outputs.

    They are generated: never edit them, change the master and release again.
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
@click.argument("submissions", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--again", is_flag=True, help="Run unchanged submissions, too.")
@click.option(
    "--unsafe", is_flag=True, help="Run without a sandbox: every submission can do what you can do."
)
@course_option
@assignments_option
def grade(name, submissions, jobs, again, unsafe, root, assignments):
    """Grade the submissions of assignment NAME in the folder SUBMISSIONS.

    Looks for STUDENT/NAME.ipynb, STUDENT/NAME/NAME.ipynb and STUDENT.ipynb.  What is graded is
    written at once, so an interrupted run loses nothing; run the same command again to go on.
    """
    from kernelbook.course.assignment import load
    from kernelbook.course.gradebook import Course
    from kernelbook.course.run import grade_folder
    from kernelbook.course.sandbox import SandboxMissing

    try:
        assignment = load(name, assignments)
        if unsafe:
            click.echo("without a sandbox: these submissions can do whatever you can", err=True)
        with Course(root.resolve()) as book:
            summary = grade_folder(
                book, assignment, submissions, jobs=jobs, again=again, unsafe=unsafe
            )
    except (LookupError, OSError, RuntimeError, SandboxMissing) as error:
        raise _say(error) from None
    click.echo(summary)


@course.command(short_help="Print a row a student, write tables.")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@course_option
@assignments_option
def report(names, root, assignments):
    """Print a row a student, write CSV tables, bring feedback pages up to date.

    Run it again after grading by hand in formgrader.  Without a NAME, all graded assignments.
    """
    from kernelbook.course.gradebook import Course
    from kernelbook.course.run import write_reports

    if not (root / "gradebook.db").exists():
        raise click.ClickException(
            f"{root} has no gradebook; grade something first, or name the folder with --course"
        )
    try:
        with Course(root.resolve()) as book:
            click.echo(write_reports(book, names, assignments))
    except (LookupError, OSError, RuntimeError) as error:
        raise _say(error) from None
