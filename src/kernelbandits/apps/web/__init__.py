"""The lab page and the REST interface: studies in a browser, and for instruments.

It has no mathematics and no SQL: it calls `Study` and shows what comes back. `serve.run_server`
starts a server; `app.build_app` builds the application alone.
"""
