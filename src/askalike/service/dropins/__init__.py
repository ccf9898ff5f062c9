"""APIs of other software, which can use this service through its own settings, without a change to its code."""
