"""The collector: it watches the cluster that it runs in, and sends what it observes to Causeline.

It needs no database and no Django. Here belong the buffer on its disk and the requests that it sends; the watches
themselves are those of `collectors.watch`, and what the server does with the batches is in `dashboard.web.collecting`,
`timeline.storage.entries.collected` and `collectors.watch.storing.feeds`.
"""
