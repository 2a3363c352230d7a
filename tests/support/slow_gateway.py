"""`python -m tests.support.slow_gateway FILE serve …`: a gateway whose requests are slow while FILE exists.

It writes FILE.reached before it waits.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from kconf.cli.main import main
from kconf.store.upstream.sender import Sender


def _install(path: Path) -> None:
    send = Sender.send

    def delayed(sender: Sender, *words: Any, **named: Any) -> Any:
        while path.exists():
            path.with_suffix(".reached").touch()
            time.sleep(0.01)
        return send(sender, *words, **named)

    Sender.send = delayed  # type: ignore[assignment,method-assign]


if __name__ == "__main__":
    _install(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
