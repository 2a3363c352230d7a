"""`python -m kconf`."""

import sys

from kconf.cli.main import main

sys.exit(main())
