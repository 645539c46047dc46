"""The service on the web: an HTTP interface to runs, and a live page. Needs the extra ``hakoiri[web]``."""
