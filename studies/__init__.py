"""Published tables and figures made again, one folder a paper; outside the package."""
