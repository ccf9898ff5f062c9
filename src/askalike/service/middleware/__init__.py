"""What every request passes before its route: an id and a log line, host and origin, the limits of its body."""
