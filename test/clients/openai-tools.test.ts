// OpenAI's own client and tools: calls in parallel, whole and streamed, and its helper that answers them by itself.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type OpenAI from 'openai'
import { ASKED, CITY, MODEL, startBench, weatherman } from './kit.ts'

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'weather', description: 'Of a city.', parameters: CITY } },
]
const CALLS = [
  ['call_ulm', 'weather', { city: 'Ulm' }],
  ['call_bonn', 'weather', { city: 'Bonn' }],
]

function callsIn({ tool_calls = [] }: OpenAI.ChatCompletionMessage) {
  return tool_calls.map((one) => {
    assert.equal(one.type, 'function')
    const { name, arguments: given } = one.type === 'function' ? one.function : { name: '', arguments: '{}' }
    return [one.id, name, JSON.parse(given)]
  })
}

describe("OpenAI's client", () => {
  for (const streamed of [false, true]) {
    test(`gets calls in parallel ${streamed ? 'streamed' : 'whole'}, and answers them`, async () => {
      await using bench = await startBench({ answer: weatherman })
      const { completions } = bench.openai.chat
      const ask = (messages: OpenAI.ChatCompletionMessageParam[]) => {
        const body = { model: MODEL, messages, tools: TOOLS, parallel_tool_calls: true, tool_choice: 'auto' as const }
        return streamed ? completions.stream(body).finalChatCompletion() : completions.create(body)
      }
      const { choices } = await ask(ASKED)
      const [{ message, finish_reason }] = choices as [OpenAI.ChatCompletion.Choice]
      assert.equal(finish_reason, 'tool_calls')
      assert.deepEqual(callsIn(message), CALLS)
      const results = message.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: id }))
      const answered = await ask([...ASKED, message, ...results])
      assert.equal(answered.choices[0]!.message.content, 'call_ulm; call_bonn')
      const { tools, parallel_tool_calls, tool_choice } = bench.upstream.posts[0]!.json
      assert.deepEqual(
        { tools, parallel_tool_calls, tool_choice },
        {
          tools: TOOLS,
          parallel_tool_calls: true,
          tool_choice: 'auto',
        },
      )
    })

    test(`runs tools by itself, ${streamed ? 'streamed' : 'whole'}`, async () => {
      await using bench = await startBench({ answer: weatherman })
      const asked: string[] = []
      const tools = [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            description: 'Of a city.',
            parameters: CITY,
            parse: (text: string) => JSON.parse(text) as { city: string },
            function: ({ city }: { city: string }) => {
              asked.push(city)
              return `sun in ${city}`
            },
          },
        },
      ]
      const body = { model: MODEL, messages: ASKED, tools }
      const { completions } = bench.openai.chat
      const runner = streamed
        ? completions.runTools({ ...body, stream: true, stream_options: { include_usage: true } })
        : completions.runTools(body)
      assert.equal(await runner.finalContent(), 'sun in Ulm; sun in Bonn')
      assert.deepEqual(asked, ['Ulm', 'Bonn'])
      assert.equal(bench.upstream.posts.length, 2)
      assert.ok((await runner.totalUsage()).total_tokens > 0)
    })
  }
})
