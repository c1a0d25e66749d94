"""Slides for the weeks of the course, made from the chapters, so that the two never differ.

parts     a chapter's statements, figures and take-away, with the prose between them as notes
markup    the book's Markdown as HTML, formulas as MathML
weeks     which chapters belong to which week, read from the lecturer's page
deck      one HTML file a week: arrow keys, speaker notes, nothing from the network
"""

from kernelbook.course.slides.deck import write_slides

__all__ = ["write_slides"]
