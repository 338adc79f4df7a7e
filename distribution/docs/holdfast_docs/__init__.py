"""The documentation of holdfast-dp: pages, in the folder `site`."""
