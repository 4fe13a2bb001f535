"""What a user said, apart from what clients write in the user's role."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search.spoken import author_of, read_message

Q = "newest nginx?"
REMINDER = "<system-reminder>\nprivate\n\nmore\n</system-reminder>"
INLINE = "<system-reminder>private</system-reminder>"
ASKED = f"Perform a web search for the query: {Q}"
DETAILS = "<environment_details>\nprivate\n</environment_details>"
IDE = "# Context from my IDE setup:\n\n## Active file: src/private.py\n\n## Open tabs:\n- b.py\n\n"
FORMAT = "The output should be formatted as a JSON instance that conforms to the JSON schema below."
COMMAND = "<command-message>find</command-message>\n<command-name>/find</command-name>\n"
LOCAL = "<command-name>/compact</command-name>\n<command-args></command-args>"
EDITOR = "<context>\nprivate\n</context>\n<editorContext>\nprivate\n</editorContext>\n"
RULES = "- You MUST obey this rule.\n" * 20


def words(*parts: str) -> str:
    """The user's words in a message of these parts."""
    return read_message(parts).text


@pytest.mark.parametrize(
    "text",
    [
        "kubectl apply -f <file> --dry-run=server meaning",
        "git checkout <branch> meaning",
        "How do I use the <source> element inside <video>?",
        "<source> element inside <video>: how do I use it?",
        "What is a <system-reminder> in Claude Code?",
        "Does <system-reminder>hi</system-reminder> do anything in Claude Code?",
        "What is <context> in Spring XML?",
        "<context>foo</context> in Tomcat: what does it do?",
        "what does <groupId>org.x</groupId> mean in a pom?",
        "List<String> vs ArrayList<String> in Java",
        "std::vector<std::pair<int, int>> sort in C++20",
        "is a < b and c > d valid in Python?",
        "cat <<EOF heredoc in bash",
        "Why does <MyComponent prop={x} /> render twice?",
        "<Button onClick={() => setX(x => x + 1)}>\n  Add\n</Button>\nwhy does it render twice?",
        "Where does it go?\n<dependency>\n  <groupId>x</groupId>\n</dependency>",
        "<dependency>\n  <groupId>x</groupId>\n</dependency>\n\nWhere does it go?",
        "<task>\n  <echo/>\n</task>\nwhat does this ant task do?",
        "<!DOCTYPE html>\n<html>\n<body>\n</body>\n</html>\nwhy is this page blank?",
        "```xml\n<environment_context>\n  <cwd>/</cwd>\n</environment_context>\n```\nWhat is it?",
        "John <john@example.com> bounced, what does 550 5.7.1 mean?",
        "<john@example.com> bounced, what does 550 5.7.1 mean?",
        "<p>newest nginx?</p>",
        "# Heading\nWhat is new in nginx 1.31?",
        "## Environment\nDebian 12\n## Problem\nnginx says 502, why?",
        "### Task:\nfind the newest nginx",
        "Request: GET /x\nResponse: 404, why?",
        "Question: what is the newest nginx?",
        "user manual for X\nAI news",
        "[1] what is this citation style?",
        "1 validation error for Settings\nfoo\n  field required\nwhat does this mean?",
        "Steam says 'validation error, please try again', how do I fix it?",
        "You are a helpful assistant. What is the newest nginx?",
        "How do I generate a title for this conversation in LangChain?",
        "Summarize the conversation between Kennedy and Khrushchev in Vienna",
        "What is the best way to summarize chat history with an LLM?",
        "Write a Python function that stores chat history",
        "用中文总结苏格拉底对话录的主题",
        '"to be or not to be"',
        "what does `diff --git` mean?",
    ],
)
def test_the_users_own_words_stay_whole(text: str) -> None:
    """What a user may have written is asked as it stands."""
    said = read_message([text])
    assert (said.text, said.author, said.left_out) == (text, "user", ())


@pytest.mark.parametrize(
    "parts",
    [
        (f"{REMINDER}\n{Q}",),
        (f"{INLINE}{Q}",),
        (f"{Q}{INLINE}",),
        (f"{Q} {INLINE}",),
        (f"{Q}\n\n{REMINDER}\n",),
        (f"{INLINE}\n{Q}\n{INLINE}",),
        (REMINDER, Q),
        (Q, "<skill>\n<name>private</name>\n</skill>"),
        (ASKED,),
        (f"{ASKED}\n\n{REMINDER}",),
        (f"{INLINE}\n{ASKED}",),
        (f"<task>\n{Q}\n</task>\n\n{DETAILS}",),
        (f"<feedback>\n{Q}\n</feedback>", DETAILS),
        (f'<user_input mode="act">{Q}</user_input>',),
        (f"Instructions of the house.\n<user_query>\n{Q}\n</user_query>",),
        (f"{EDITOR}<userRequest>\n{Q}\n</userRequest>",),
        (f"<open_editors>\nprivate.py\n</open_editors>\n\n{Q}",),
        (f"{Q}\n\n<open_editors>\nprivate.py\n</open_editors>",),
        (f"<current_datetime>2026-12-01</current_datetime>\n\n{Q}",),
        (f"<file path='a'>private</file> {Q}",),
        (f"{IDE}## My request for Codex:\n{Q}\n",),
        (f"# Context\nprivate\n\n# Question\n{Q}\n\n# Output format\nJSON",),
        (f"Context information is below.\n---\nprivate\n---\nQuery: {Q}\nAnswer: ",),
        (f"Use the pieces of context.\n\nprivate\n\nQuestion: {Q}\nHelpful Answer:",),
        (f"Context: private\n\nQuestion: {Q}",),
        (f"{Q}\n\nReply in German.\n",),
        (f"{Q}\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block must …",),
        (f"{FORMAT}\n\n```\n{{}}\n```\n{Q}",),
        (f"[Image #1] {Q}",),
        (f"[Request interrupted by user]\n{Q}",),
        (Q, "\n--- Content from referenced files ---", "private", "\n--- End of content ---"),
        (f"{COMMAND}<command-args>{Q}</command-args>", "Research privately: $1"),
        (LOCAL, "<local-command-stdout>private</local-command-stdout>", Q),
        (f'"{Q}"',),
    ],
)
def test_only_the_request_of_a_mixed_message(parts: tuple[str, ...]) -> None:
    """Of what a client and its user wrote together, the user's words are left."""
    assert words(*parts) == Q


@pytest.mark.parametrize(
    ("text", "author"),
    [
        ("<system-reminder>never closed, private", "aside"),
        ("<anything>\nprivate\n</anything>", "aside"),
        ("<one_thing>x</one_thing>\n<another>y</another>", "aside"),
        ("<user_shell_command>\n<command>\nls\n</command>\n</user_shell_command>", "aside"),
        ("[Request interrupted by user for tool use]", "aside"),
        ("# AGENTS.md instructions for /home/me\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>", "aside"),
        ("<command-message>x</command-message>\n<command-name>/x</command-name>", "client"),
        ("Generate a short, catchy title for this chat in five words or fewer", "client"),
        ("Provide a concise title for the conversation, using title case.", "client"),
        ("Based on the chat history, suggest three follow-up questions as JSON", "client"),
        ("Please generate a four to five word title summarizing our conversation", "client"),
        ("使用四到五个字直接返回这句话的简要主题，不要解释", "client"),
        ("请为以上对话生成标题", "client"),
        ("Can you summarize our conversation so far?", "client"),
        ("Here is a summary of our previous session: the user fixed x.", "client"),
        ("The conversation so far was compacted: private", "client"),
        ("Your answer is not valid JSON. Please try again.", "client"),
        ("Output parsing error: missing field 'year'. Correct the output.", "client"),
        ("Generate a title for this conversation:\n", "lead"),
    ],
)
def test_a_clients_own_text(text: str, author: str) -> None:
    """A text that is one element, a task, a summary or a retry is no user's."""
    said = read_message([text])
    assert (said.text, said.author) == ("", author)
    assert said.why


@pytest.mark.parametrize(
    "text",
    [
        "User: hi\nAssistant: hello\nUser: bye",
        "# USER\nhi\n# ASSISTANT\nhello",
        '{"a": [1, 2]}',
        "[1, 2, 3]",
        "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x\n+y",
        "# Role\nYou are a critic\n# Guidelines\nBe brief",
        "Given the follow up, write a question.\nFollow Up Input: and x?\nStandalone question:",
        "You are an extractor. Read what the user sends.\n" + "- You MUST obey rule n.\n" * 20
        + "Respond with JSON only, and NEVER explain.",
    ],
)  # fmt: skip
def test_what_cannot_be_told(text: str) -> None:
    """Where nobody can tell a user's question, there is none, and the reason is told."""
    said = read_message([text])
    assert (said.text, said.author) == ("", "user")
    assert said.why


def test_a_lead_makes_what_follows_its_own() -> None:
    """A client's "…:" asks about the text behind it, which is then no question of its user."""
    lead = "Generate a title for this conversation:\n"
    assert author_of([lead]) == "lead"
    assert author_of([lead, "When was nginx released?"]) == "client"


@given(st.lists(st.text(), max_size=4))
def test_any_text(parts: list[str]) -> None:
    """Whatever is sent, there are words or there are none; nothing is raised."""
    said = read_message(parts)
    assert said.author == "user" or not said.text


@given(st.text(alphabet=st.characters(blacklist_characters='<>#:[{\n"`'), min_size=1, max_size=60))
def test_plain_words_are_never_cut(text: str) -> None:
    """A line without markup is the user's as it stands, whatever it says of itself."""
    said = read_message([text])
    assert said.text in (text.strip(), "")
    assert said.text or said.why or not text.strip()


@pytest.mark.parametrize(
    "parts",
    [
        (f"{Q}\n{'private ' * 200_000}",),
        (f"{'private ' * 200_000}\n\n{REMINDER}\n{Q}",),
        (REMINDER, f"<open_files>\n{'private ' * 200_000}\n</open_files>", Q),
        (Q, *(f"<file_{n}>\n{'private ' * 9_000}\n</file_{n}>" for n in range(30))),
    ],
)
def test_a_very_long_message(parts: tuple[str, ...]) -> None:
    """Of more than a million characters the beginning and the end are read."""
    said = words(*parts)
    assert said.startswith(Q) or said.endswith(Q)
    assert len(said) <= 1_000_001


@pytest.mark.parametrize(
    "header",
    [
        "[read_file for 'src/private.py'] Result:",
        "[search_files for '[a-z]]+ private' in '*.py'] Result:",
        "[execute_command for 'cat <<EOF\nprivate\nEOF'] Result:",
        "[use_mcp_tool for 'docs'] Result:",
        "[browser_action] Result:",
    ],
)
@pytest.mark.parametrize(
    "output", ["def private(): ...", "When was Python 3.14 released?", DETAILS]
)
def test_outputs_of_tools_written_as_text(header: str, output: str) -> None:
    """What a tool of the client gave is no user's, in one text part or behind its header."""
    for parts in ((header, output), (f"{header}\n{output}", DETAILS), (header, output, DETAILS)):
        spoken = read_message(parts)
        assert (spoken.text, spoken.author in ("client", "lead")) == ("", True), parts


@pytest.mark.parametrize(
    "parts",
    [
        ("[attempt_completion] Result:", f"<feedback>\n{Q}\n</feedback>", DETAILS),
        (f"[attempt_completion] Result:\n<feedback>\n{Q}\n</feedback>",),
        ("[plan_mode_respond] Result:", f"<user_message>\n{Q}\n</user_message>"),
    ],
)
def test_what_a_user_told_a_tool(parts: tuple[str, ...]) -> None:
    """Tools that ask the user give back the user's own words."""
    assert words(*parts) == Q


@pytest.mark.parametrize("text", ["[1] Result: is it right?", "[INFO] Result: 5, why?", "[x] y?"])
def test_brackets_of_a_user(text: str) -> None:
    """A user's own text in brackets is no tool's output."""
    assert author_of([text]) == "user"
