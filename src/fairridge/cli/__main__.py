"""``python -m fairridge.cli``."""

import sys

from fairridge.cli import main

sys.exit(main())
