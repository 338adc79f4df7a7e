"""`python -m holdfast_verify DIR`."""

from holdfast_verify.cli import main

main()
