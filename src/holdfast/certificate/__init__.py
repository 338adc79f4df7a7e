"""The record of a release: as JSON for machines, as a page for people, and its verification."""
