"""Read from PostgreSQL what screens show. The size of every answer is limited, whatever the size of the source."""
