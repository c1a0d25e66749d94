"""What a lecturer decides once: due dates, and what lateness costs.

`course.toml` in the course's folder:

    [due]
    kernels = 2027-03-12T23:59:00
    grls    = 2027-03-26T23:59:00

    [late]
    percent_per_day = 10     # of the points earned; a day that has begun counts
    most_days = 5            # later than that earns nothing
    grace_minutes = 15       # clocks differ

    [canvas]
    grls = "Least squares (48213)"    # the assignment's title there, for the export

Without the file nothing is late.  A student's extension in the roster moves all of their dates.
"""

import math
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path

__all__ = ["Late", "Settings", "SettingsError", "template"]


class SettingsError(ValueError):
    """Settings that cannot be used; the message names the entry and the remedy."""


@dataclass(frozen=True)
class Late:
    """How late something was, in days begun, and the share of the points that this costs."""

    days: int = 0
    share: float = 0.0

    def words(self) -> str:
        if not self.days:
            return ""
        late = f"{self.days} day{'s' * (self.days != 1)} late"
        return f"{late}: {100 * self.share:g} % of the points are taken off"


@dataclass
class Settings:
    """Due dates by assignment and the late policy."""

    due: dict[str, datetime] = field(default_factory=dict)
    percent_per_day: float = 0.0
    most_days: float = math.inf
    grace_minutes: float = 0.0
    canvas: dict[str, str] = field(default_factory=dict)  # titles of assignments

    def late(self, assignment: str, handed_in: float | None, extension=0.0) -> Late:
        """How late a file of that time is; without a due date or a time nothing is late."""
        if assignment not in self.due or handed_in is None:
            return Late()
        end = self.due[assignment] + timedelta(days=extension)
        over = datetime.fromtimestamp(handed_in).astimezone() - end
        if over <= timedelta(minutes=self.grace_minutes):
            return Late()
        days = math.ceil(over / timedelta(days=1))
        share = 1.0 if days > self.most_days else min(1.0, days * self.percent_per_day / 100)
        return Late(days, share)

    def doubt(self, assignment: str, time: float | None, marked: bool | None, late: Late) -> str:
        """Why it is uncertain whether something was late; empty if nothing contradicts it.

        marked: whether Canvas calls it late; None if Canvas does not say.
        """
        if assignment not in self.due:
            return ""
        if time is None:
            end = "; Canvas marks it as late" if marked else ""
            return f"when this was handed in is not known: it counts as in time{end}"
        if marked and not late.days:
            return "Canvas marks this as late, and by its time it is not: compare the due dates"
        if marked is False and late.days:
            return (
                "Canvas does not mark this as late, and by its time it is: were the times kept "
                "when the export was unpacked?"
            )
        return ""

    @classmethod
    def read(cls, path: Path) -> "Settings":
        """The settings in a file; the defaults if there is none."""
        if not path.exists():
            return cls()
        try:
            plain = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path} cannot be read: {error}") from None
        late = plain.pop("late", {})
        due = {name: _moment(path, name, at) for name, at in plain.pop("due", {}).items()}
        canvas = plain.pop("canvas", {})
        known = {"percent_per_day", "most_days", "grace_minutes"}
        if strange := [*plain, *(set(late) - known)]:
            raise SettingsError(
                f"{path}: {strange[0]!r} is not known; there are [due] and [canvas] with "
                f"assignments and [late] with {', '.join(sorted(known))}"
            )
        for name, value in late.items():
            if type(value) not in (int, float) or not value >= 0:
                raise SettingsError(f"{path}: {name}={value!r} must be a number, zero or more")
        for name, title in canvas.items():
            if not isinstance(title, str) or not title.strip():
                raise SettingsError(
                    f"{path}: {name}={title!r} must be the assignment's title in Canvas, in quotes"
                )
        return cls(due=due, canvas=canvas, **late)


def _moment(path, name, at):
    """A local time; a bare date means its last minute."""
    if isinstance(at, datetime):
        return at.astimezone()
    if isinstance(at, date):
        return datetime.combine(at, time(23, 59, 59)).astimezone()
    raise SettingsError(
        f"{path}: {name}={at!r} is no date; write it without quotes, {name} = 2027-03-12T23:59:00"
    )


def template(assignments) -> str:
    """A file to start from, with every line commented out."""
    lines = ["# Remove the # in front of a line to use it.", "[due]"]
    first = datetime(2027, 3, 5, 23, 59)
    for week, name in enumerate(assignments):
        lines.append(f"# {name} = {(first + timedelta(weeks=week)).isoformat()}")
    lines += ["", "[late]", "# percent_per_day = 10    # of the points earned, for a day begun"]
    lines += ["# most_days = 5           # later than that earns nothing"]
    lines += ["# grace_minutes = 15", "", "[canvas]"]
    lines += [f'# {name} = "its title in Canvas"' for name in assignments]
    return "\n".join(lines) + "\n"
