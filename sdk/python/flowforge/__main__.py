"""Runs the command line: python -m flowforge."""

import sys

from ._cli import main

sys.exit(main())
