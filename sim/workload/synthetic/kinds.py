"""What `[workload.synthetic]` may be; each kind makes its `trace` from a seed."""

from typing import Annotated

from pydantic import Field

from sim.workload.synthetic.chat import Chat
from sim.workload.synthetic.rows import Rows
from sim.workload.synthetic.shared_prefix import SharedPrefix

Synthetic = Annotated[Chat | SharedPrefix | Rows, Field(discriminator="kind")]
KINDS = (Chat, SharedPrefix, Rows)
