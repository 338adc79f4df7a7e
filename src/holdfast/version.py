"""The version, readable without looking at installed packages."""

VERSION = "0.1.0"
