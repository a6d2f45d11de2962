// Servers that refuse `stream_options`: the request is sent again without the field, and so are all later requests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProviderError } from '../../../../src/models/provider-error.ts'
import { createOpenAiProvider } from '../../../../src/models/providers/openai/provider.ts'
import { UpstreamClient } from '../../../../src/net/upstream/client.ts'
import { collect } from '../../../helpers/loop.ts'
import type { Script, UpstreamRequest } from '../../../helpers/upstream.ts'
import { type Asking, answering, startAsking, textOf } from '../../openai-kit.ts'

const pydantic = { type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }
const python =
  "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]"

const REFUSALS: Readonly<Record<string, Script>> = {
  FastAPI: { status: 422, body: JSON.stringify({ detail: [pydantic] }) },
  Mistral: {
    status: 422,
    body: JSON.stringify({
      object: 'error',
      message: { detail: [pydantic] },
      type: 'invalid_request_error',
      param: null,
    }),
  },
  'older vLLM': {
    status: 400,
    body: JSON.stringify({ object: 'error', message: python, type: 'BadRequestError', param: null, code: 400 }),
  },
  Azure: { status: 400, error: { message: 'Unrecognized request argument supplied: stream_options' } },
  'a server in Go': { status: 400, body: '{"error":"json: unknown field \\"stream_options\\""}' },
  'one that names the field apart': { status: 400, error: { message: 'Unknown field.', param: 'stream_options' } },
}

const fields = ({ posts }: Asking['upstream']) => posts.map(({ json }) => 'stream_options' in json)
const strict = (refusal: Script) => ({
  answer: ({ json }: UpstreamRequest) =>
    json.stream_options ? refusal : { text: ['One', ' two'], usage: 'none' as const },
})

describe('a server that refuses stream_options', () => {
  for (const [name, refusal] of Object.entries(REFUSALS)) {
    test(`gets requests without them, from then on: ${name}`, async () => {
      await using asking = await startAsking(strict(refusal))
      const parts = await asking.ask({ seed: 7 })
      assert.equal(textOf(parts), 'One two')
      const end = parts.at(-1)!
      assert.deepEqual(end.type === 'end' && end.usage, { input_tokens: 0, output_tokens: 0, cost: null })
      const [first, second] = asking.upstream.posts.map(({ json }) => json)
      const { stream_options, ...rest } = first
      assert.deepEqual([stream_options, second], [{ include_usage: true }, rest])
      await asking.ask()
      assert.deepEqual(fields(asking.upstream), [true, false, false])
    })
  }

  test('is understood wherever its refusal is split', async () => {
    const refusal = REFUSALS.Mistral!
    const answer = ({ json }: UpstreamRequest): Script =>
      json.stream_options ? { ...refusal, split: [json.seed] } : { text: 'Yes' }
    await using asking = await startAsking({ answer })
    await using client = new UpstreamClient()
    const { base_url } = asking.upstream
    const named = { name: 'acme', title: 'Acme', base_url, credential: null, keyless: true, client }
    for (let seed = 1; seed < refusal.body!.length; seed++) {
      // The fallback of one provider does not change another provider.
      const request = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'Hi' }], seed }
      const { signal } = new AbortController()
      const parts = await collect(createOpenAiProvider(named).complete(request, { credential: null, signal }))
      assert.equal(textOf(parts), 'Yes', `split at ${seed}`)
    }
  })

  test('may repeat the request in its refusal', async () => {
    const refusal = { status: 400, error: { message: 'no such model: {"stream_options":{"include_usage":true}}' } }
    await using asking = await startAsking(answering(refusal, refusal, {}))
    await assert.rejects(asking.ask(), { name: 'ProviderError', fault: 'rejected', message: /no such model/ })
    await asking.ask()
    assert.deepEqual(fields(asking.upstream), [true, false, true], 'nothing is remembered')
  })

  for (const [what, script] of Object.entries<Script>({
    'of something else': { status: 400, error: { message: 'no', param: 'temperature' } },
    'of its own': { status: 500, error: { message: 'stream_options broke it' } },
    'in the middle of its answer': {
      events: [{ choices: [{ delta: { content: 'a' } }] }, { error: 'stream_options' }],
    },
  })) {
    test(`gets no second request after a failure ${what}`, async () => {
      await using asking = await startAsking(answering(script))
      await assert.rejects(asking.ask(), ProviderError)
      assert.equal(asking.upstream.posts.length, 1)
    })
  }
})

describe('a request in bytes', () => {
  const plain = Buffer.from('{"model":"gpt-4o","messages":[],"stream":true}')
  const body = Buffer.from('{"model":"gpt-4o","messages":[],"stream":true,"stream_options":{"include_usage":true}}')
  const send = ({ provider }: Asking, without: (() => Uint8Array | null) | null) => {
    const { signal } = new AbortController()
    const request = { path: '/chat/completions', body, credential: null, signal } as const
    return provider.upstream!.send(without ? { ...request, plain: without } : request)
  }

  test('is sent again in the gateway’s form without the field', async () => {
    await using asking = await startAsking(strict(REFUSALS.Azure!))
    for (let times = 0; times < 2; times++) (await send(asking, () => plain)).body.destroy()
    assert.deepEqual(
      asking.upstream.posts.map(({ raw }) => raw.toString()),
      [body, plain, plain].map(String),
    )
  })

  test('is refused where there is no form without the field', async () => {
    await using asking = await startAsking(strict(REFUSALS.Azure!))
    for (const without of [null, () => null])
      await assert.rejects(send(asking, without), { fault: 'rejected', param: 'stream_options' })
    assert.equal(asking.upstream.posts.length, 2)
  })
})
