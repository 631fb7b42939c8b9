"""POST /v1/reload: load changed runs and keys, as SIGHUP does, and report the result."""

from fastapi import Request
from pydantic import BaseModel, Field

from regard.serve.api.access import admitted
from regard.serve.security import ADMIN
from regard.serve.service import Service


class ReloadAnswer(BaseModel):
    """The changed runs by name. Where one failed, its old model stays, as do old keys and an old log."""

    loaded: list[str] = Field(description="models that answer from now on")
    failed: dict[str, str] = Field(description="reasons by model, or by option: --api-keys, --access-log")


async def reload_runs(service: Service, request: Request) -> ReloadAnswer:
    """Load changed runs beside the old ones and swap each when it is ready; no request is lost."""
    await admitted(service, request, right=ADMIN)
    faults = await service.reload()
    failed = {name: fault for name, fault in faults.items() if fault}
    return ReloadAnswer(loaded=[name for name in faults if name not in failed], failed=failed)
