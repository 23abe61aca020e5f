"""Lay out a timeline: lanes and their order, bars, marks and arrows, and the excerpt that a report shows.

Everything here is pure and independent of colours and screens; drawing belongs into `dashboard.drawing` and the
browser.
"""
