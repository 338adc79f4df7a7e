"""The certificate of a file of records: its values, its page."""
