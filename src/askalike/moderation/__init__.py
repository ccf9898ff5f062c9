"""Keeping an archive in order: what scores mean, when to be silent, which questions are one."""
