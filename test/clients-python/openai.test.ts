// OpenAI's Python client, at a pinned version that is installed once into the cache, with nothing but its base URL set.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startBench, weatherman } from '../clients/kit.ts'
import { hello, stored } from '../completions/workflow-kit.ts'
import { pythonPackages, run } from '../generators/tools.ts'
import { codeBlock, readGuidePage } from '../helpers/documents.ts'
import { startServer } from '../helpers/server.ts'
import type { Script, UpstreamRequest } from '../helpers/upstream.ts'

const OPENAI = ['openai==3.54.0']
const upset = { message: 'The upstream is upset.' }

/** By the last thing that was said. */
const ANSWERS: Readonly<Record<string, Script>> = {
  limited: { status: 429, retry_after: '17', error: upset },
  failing: { status: 503, error: upset },
  cut: { text: ['one', 'two'], cuts: 2 },
  hang: { text: ['one', 'two'], hangs: 2 },
}

function answer(request: UpstreamRequest): Script {
  const { input, messages, tools } = request.json
  if (input)
    return {
      vectors: [
        [0.5, -1.25],
        [2, 0],
      ],
    }
  if (tools) return weatherman(request)
  return ANSWERS[messages.at(-1).content] ?? { usage: { prompt_tokens: 9, completion_tokens: 3 } }
}

const VECTORS = [
  [0.5, -1.25],
  [2, 0],
]
/** As this client reads it, a code is a text. */
const TOLD: readonly (readonly [name: string, ...values: unknown[]])[] = [
  ['lists', true, true],
  ['whole', 'Hello from upstream', 'stop', 12],
  ['streamed', 'Hello from upstream', 12],
  ['gathered', ['Hello', ' from', ' upstream'], 'Hello from upstream'],
  [
    'tools',
    'tool_calls',
    [
      ['call_ulm', 'weather', { city: 'Ulm' }],
      ['call_bonn', 'weather', { city: 'Bonn' }],
    ],
    'sun in Ulm; sun in Bonn',
  ],
  ['parsed', 'text', 'text'],
  ['vectors', VECTORS, VECTORS],
  ['errors', 'NotFoundError', 404, 'model_not_found', 'model', '404', null],
  ['errors', 'BadRequestError', 400, 'invalid_request', 'messages', '400', null],
  ['errors', 'RateLimitError', 429, 'rate_limited', null, '429', '17'],
  ['errors', 'InternalServerError', 502, 'upstream_error', null, '502', null],
  ['errors', 'one', 'APIError', 'upstream_error', '502'],
  ['leaving'],
  ['workflow', 'Hello, Ada!', true],
  ['at_once', Array.from({ length: 5 }, (_, number) => `number ${number}`)],
]

describe("OpenAI's Python client", () => {
  test('lists, chats, streams, calls tools, parses, gets vectors, is told of failures and goes away', async (context) => {
    const python = await pythonPackages(context, 'clients-python', OPENAI)
    if (python === null) return
    await using bench = await startBench({ answer })
    const model = `workflow/${await stored(bench.server, hello())}`
    const script = join(import.meta.dirname, 'clients.py')
    const stdout = await run(join(python, 'bin/python'), [script, `${bench.server.url}/v1`, model], import.meta.dirname)
    const lines = stdout.trim().split('\n')
    const told = lines.map((line) => [line.split(' ', 1)[0], ...JSON.parse(line.slice(line.indexOf(' ')))])
    assert.deepEqual(told, TOLD)
    const left = bench.upstream.posts.find(({ json }) => json.messages?.at(-1).content === 'hang')
    await left!.gone
  })

  test('asks as the guide shows', async (context) => {
    const python = await pythonPackages(context, 'clients-python', OPENAI)
    if (python === null) return
    await using server = await startServer()
    const script = codeBlock(readGuidePage('openai-api'), 'python').replace('http://127.0.0.1:7777', server.url)
    assert.equal(await run(join(python, 'bin/python'), ['-c', script], import.meta.dirname), 'Good morning')
  })
})
