"""APIs of other software, which its own settings point at this service, without a change to it."""
