"""Amazon Bedrock: Claude without any hosted search (https://github.com/BerriAI/litellm/pull/36442)."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("bedrock")(
    Provider(
        name="bedrock",
        refuses_tool_on={
            "messages": "Bedrock has no hosted search and answers 400 to the tool",
            "chat": "Bedrock has no hosted search and answers 400 to the tool",
            "responses": "Bedrock has no hosted search and answers 400 to the tool",
        },
    )
)
