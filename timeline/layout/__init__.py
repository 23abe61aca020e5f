"""This package lays out a timeline: lanes and their order, bars, marks and arrows, and the excerpt that a report shows.

Everything here is pure and knows no colours or pixels; drawing belongs into `dashboard.drawing` and the browser.
"""
