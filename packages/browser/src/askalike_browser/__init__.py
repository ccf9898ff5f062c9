"""An archive as a static site: a folder of files that searches itself in a browser, without a service."""
