"""Make tables of recordings: Parquet files, and answers to SQL queries. No server is needed.

`schema.py` declares the tables and their columns, `rows.py` fills them from a world, `files.py` writes them, and
`query.py` asks them. pyarrow and DuckDB, which are the extra `tables`, are imported only here and when they are used.
"""
