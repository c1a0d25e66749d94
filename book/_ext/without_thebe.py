"""Jupyter Book loads sphinx-thebe whether or not a book uses it, and we do not.

It would declare the same constants twice on every page, an error in the console of each, and name
a public server.  Its handlers are taken out before they run.
"""


def silence(app, config):
    for handlers in app.events.listeners.values():
        handlers[:] = [h for h in handlers if not h.handler.__module__.startswith("sphinx_thebe")]


def setup(app):
    app.connect("config-inited", silence)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
