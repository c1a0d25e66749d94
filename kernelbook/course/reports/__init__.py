"""What is read after grading: by students, by the lecturer, by a learning management system.

standing     where each student stands: points, lateness, what is missing
tables       CSV tables and the lines in the terminal
lms          files that Moodle and Canvas import as they are, and feedback to hand back
similarity   which code resembles which
classpage    the class at a glance
writing      all of these, into the course's folder
"""
