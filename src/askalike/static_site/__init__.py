"""An archive as a folder of files that searches itself in a browser, without a service."""
