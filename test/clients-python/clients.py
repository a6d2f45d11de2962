# What a user of OpenAI's Python client writes, against the service whose base URL is given, in front of a scripted upstream. Each function
# prints one line; the test says which ones it expects.
import asyncio
import json
import sys

import openai
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

base_url = sys.argv[1]
client = OpenAI(base_url=base_url, api_key="any text", max_retries=0)
MODEL = "up/gpt-4o-mini"
VECTORS = "up/text-embedding-3-small"


def asking(text: str) -> dict:
    return {"model": MODEL, "messages": [{"role": "user", "content": text}]}


class Place(BaseModel):
    city: str


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def told(name: str, *values: object) -> None:
    print(name, json.dumps(values, ensure_ascii=False), flush=True)


def lists() -> None:
    ids = [model.id for model in client.models.list()]
    told("lists", "builtin/echo" in ids, MODEL in ids)


def whole() -> None:
    answer = client.chat.completions.create(**asking("hello"), seed=7)
    told("whole", answer.choices[0].message.content, answer.choices[0].finish_reason, answer.usage.total_tokens)


def streamed() -> None:
    text, usage = "", None
    options = {"include_usage": True}
    for chunk in client.chat.completions.create(**asking("hello"), stream=True, stream_options=options):
        text += chunk.choices[0].delta.content or "" if chunk.choices else ""
        usage = chunk.usage or usage
    told("streamed", text, usage.total_tokens)


def gathered() -> None:
    with client.chat.completions.stream(**asking("hello")) as stream:
        pieces = [event.delta for event in stream if event.type == "content.delta" and event.delta]
        told("gathered", pieces, stream.get_final_completion().choices[0].message.content)


def tools() -> None:
    body = asking("weather?")
    first = client.chat.completions.create(**body, tools=[WEATHER], parallel_tool_calls=True)
    message = first.choices[0].message
    calls = [[call.id, call.function.name, json.loads(call.function.arguments)] for call in message.tool_calls]
    results = [{"role": "tool", "tool_call_id": id, "content": "sun in " + given["city"]} for id, _, given in calls]
    body["messages"] = [*body["messages"], message, *results]
    second = client.chat.completions.create(**body, tools=[WEATHER])
    told("tools", first.choices[0].finish_reason, calls, second.choices[0].message.content)


def parsed() -> None:
    answer = client.chat.completions.parse(**asking("where?"), response_format=Place)
    with client.chat.completions.stream(**asking("where?"), response_format=Place) as stream:
        final = stream.get_final_completion()
    told("parsed", answer.choices[0].message.parsed.city, final.choices[0].message.parsed.city)


def vectors() -> None:
    plain = client.embeddings.create(model=VECTORS, input=["a", "b"], encoding_format="float")
    packed = client.embeddings.create(model=VECTORS, input=["a", "b"])
    told("vectors", [one.embedding for one in plain.data], [one.embedding for one in packed.data])


def errors() -> None:
    for text, more in [("hello", {"model": "up/nothing"}), ("hello", {"messages": []}), ("limited", {}), ("failing", {})]:
        try:
            client.chat.completions.create(**{**asking(text), **more})
        except openai.APIStatusError as error:
            after = error.response.headers.get("retry-after")
            told("errors", type(error).__name__, error.status_code, error.type, error.param, error.code, after)
    text = ""
    try:
        for chunk in client.chat.completions.create(**asking("cut"), stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError as error:
        told("errors", text, type(error).__name__, error.type, error.code)


def leaving() -> None:
    with client.chat.completions.create(**asking("hang"), stream=True) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content:
                break
    told("leaving")


async def at_once() -> None:
    async with AsyncOpenAI(base_url=base_url, api_key="any text", max_retries=0) as many:

        async def one(number: int) -> str:
            body = {"model": "builtin/echo", "messages": [{"role": "user", "content": f"number {number}"}]}
            stream = await many.chat.completions.create(**body, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        told("at_once", await asyncio.gather(*[one(number) for number in range(5)]))


def workflow() -> None:
    messages = [{"role": "user", "content": "Ada"}]
    raw = client.chat.completions.with_raw_response.create(model=sys.argv[2], messages=messages)
    told("workflow", raw.parse().choices[0].message.content, raw.headers["x-svc-job-id"].startswith("job_"))


for use in (lists, whole, streamed, gathered, tools, parsed, vectors, errors, leaving, workflow):
    use()
asyncio.run(at_once())
