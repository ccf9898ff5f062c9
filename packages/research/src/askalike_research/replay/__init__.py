"""Replays the past states of an archive: would the original have been found when the duplicate was asked?"""
