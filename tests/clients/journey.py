"""The Python SDK's own client on its way through a project: `journey.py MODE`, the rest from the
environment.

Prints one JSON object with what it saw. It runs in a process of its own, since the SDK is not ours
to keep quiet.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp import Client

PATCH = "--- a/src/app.py\n+++ b/src/app.py\n@@ -2 +2 @@\n-    return 1\n+    return 2\n"
seen: dict[str, Any] = {"asked": []}


async def elicit(_: Any, params: Any) -> types.ElicitResult:
    """The person in front of the client: yes to everything but secrets of the trade."""
    seen["asked"].append(params.message)
    if "no.txt" in params.message:
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content={"approve": True})


async def journey(client: Client, project: str) -> None:
    seen["version"] = client.protocol_version
    seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]

    async def call(name: str, **arguments: Any) -> tuple[bool, Any]:
        found = await client.call_tool(name, arguments)
        return bool(found.is_error), found.structured_content

    seen["files"] = (await call("list_files"))[1]["paths"]
    _, first = await call("read_file", path="src/app.py")
    seen["text"] = first["text"]
    seen["patched"] = (await call("apply_patch", patch=PATCH, base=first["version"]))[1]
    with open(os.path.join(project, "src/app.py"), "w") as file:
        file.write("def main():\n    return 3\n")
    seen["conflict"] = await call("apply_patch", patch=PATCH, base=first["version"])
    seen["declined"] = await call("write_file", path="no.txt", content="no\n", mode="create")
    seen["rolled_back"] = (await call("rollback", path="src/app.py", version=first["version"]))[1]
    seen["denied"] = await call("read_file", path=".env")
    resources = (await client.list_resources()).resources
    seen["resources"] = [str(one.uri) for one in resources]
    read = await client.read_resource("sutler://project/README.md")
    seen["readme"] = read.contents[0].model_dump(mode="json")["text"]
    seen["prompts"] = [one.name for one in (await client.list_prompts()).prompts]
    told: list[float] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    await client.call_tool("pack", {"goal": "main"}, progress_callback=tell)
    seen["progress"] = told == sorted(told)
    seen["each"] = {}
    for name, arguments in json.loads(os.environ["JOURNEY_CALLS"]).items():
        found = await client.call_tool(name, arguments)
        kind = "object" if isinstance(found.structured_content, dict) else "none"
        seen["each"][name] = bool(found.is_error), kind, found.content[0].type
    seen["cancelled"] = "answered"
    try:
        async with asyncio.timeout(0.02):
            await client.call_tool("pack", {"goal": "main"})
    except TimeoutError:
        seen["cancelled"] = "cancelled"
    seen["after"] = (await call("list_files"))[1]["paths"]


async def main(mode: str) -> None:
    project = os.environ["JOURNEY_PROJECT"]
    async with AsyncExitStack() as stack:
        if url := os.environ.get("JOURNEY_URL"):
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            headers = {"Authorization": f"Bearer {os.environ['JOURNEY_TOKEN']}"}
            web = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
            transport: Any = streamable_http_client(url, http_client=web)
        else:
            words = ["-m", "sutler", "mcp", "--root", project]
            transport = stdio_client(
                StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
            )
        client = Client(transport, mode=mode, elicitation_callback=elicit)  # type: ignore[arg-type]  # a plain word
        await journey(await stack.enter_async_context(client), project)
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
