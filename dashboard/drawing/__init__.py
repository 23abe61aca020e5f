"""Draw Plotly figures, SVG pictures and axis ticks on the server.

The input is what `timeline.payloads` describes; the interactive timeline in the browser is drawn by `static/`.
"""
