"""The certificate of several tables of one file: one record, one page with a chapter each."""
