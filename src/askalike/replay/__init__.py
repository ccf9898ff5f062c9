"""The archive as it was, day by day: would the original have been found when the duplicate was asked?"""
