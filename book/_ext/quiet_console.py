"""Two things that the theme would write into the console of every page.

Jupyter Book loads sphinx-thebe whether or not a book uses it.  It declares the
same constants twice and names a public server; its handlers are taken out
before they run.

The theme complains of an invalid mode where the reader has not chosen between
light and dark yet.  "auto" follows the system; it is set by a script and not in
the HTML, where it would leave readers without JavaScript without colours.
"""

MODE = 'document.documentElement.dataset.mode ||= "auto";'


def drop_thebe(app, config):
    for handlers in app.events.listeners.values():
        handlers[:] = [
            h
            for h in handlers
            if not h.handler.__module__.startswith("sphinx_thebe")
        ]
    # Its style sheet is named in setup and copied by a handler that is gone.
    for files in (app.registry.css_files, app.registry.js_files):
        files[:] = [f for f in files if "thebe" not in (f[0] or "")]


def setup(app):
    app.connect("config-inited", drop_thebe)
    app.add_js_file(None, body=MODE, priority=0)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
