// Calls that break off, or hang: their charges, and how long a server with signs of life may take.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelUsage } from '../../src/engine/node-api/services/models.ts'
import { createUnbilledContext } from '../../src/models/billing/billing-context.ts'
import { ModelService } from '../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../src/models/catalogue/model-list-cache.ts'
import type { Provider } from '../../src/models/provider.ts'
import { createAnthropicProvider } from '../../src/models/providers/anthropic/provider.ts'
import { createGoogleProvider } from '../../src/models/providers/google/provider.ts'
import { createOpenAiProvider } from '../../src/models/providers/openai/provider.ts'
import { ProviderRegistry } from '../../src/models/providers/registry.ts'
import { event, startAnthropic } from '../helpers/anthropic-upstream.ts'
import { chunk, startGoogle } from '../helpers/google-upstream.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import { type Script, startUpstream } from '../helpers/upstream.ts'
import { collected } from './kit.ts'
import { GOOGLE_KEY, KEY, quickClient } from './vendor-kit.ts'

const client = quickClient()

function modelsOf(provider: Provider, silence_ms = 60_000) {
  const model_lists = new ModelListCache({ now: () => 0 })
  return new ModelService({
    providers: new ProviderRegistry([provider]),
    model_lists,
    idle_timeout_ms: silence_ms,
  }).accessFor(createUnbilledContext((name) => (name === 'GEMINI_API_KEY' ? GOOGLE_KEY : KEY)))
}

interface Server {
  readonly requests: readonly { readonly method: string; readonly gone: Promise<void> }[]
}

/** Makes a call, waits until the server hangs, and aborts; gives the charges. */
async function left(provider: Provider, model: string, { requests }: Server, heard = 0): Promise<ModelUsage[]> {
  const uses: ModelUsage[] = []
  const stop = new AbortController()
  let parts = 0
  const counted = { told: 0 }
  const watched: Provider = {
    ...provider,
    complete: (request, context) =>
      provider.complete(request, {
        ...context,
        heard(given) {
          counted.told++
          context.heard?.(given)
        },
      }),
  }
  const body = { model: `${provider.name}/${model}`, messages: [{ role: 'user' as const, content: 'Hello out there' }] }
  const asked = modelsOf(watched).complete({ body, signal: stop.signal, used: (use) => void uses.push(use) })
  const read = (async () => {
    for await (const _ of asked) parts++
  })()
  await until('the answer', () => requests.some(({ method }) => method === 'POST') && counted.told > heard)
  stop.abort(new Error('enough'))
  await assert.rejects(read, /enough/)
  assert.equal(parts, 0)
  return uses
}

const counts = (uses: readonly ModelUsage[]) => uses.map((use) => [use.input_tokens, use.output_tokens])

/** Its methods by themselves, so that they can be watched. */
function openAi(base_url: string): Provider {
  const named = { name: 'acme', title: 'Acme', base_url, credential: null, keyless: true, client }
  const provider = createOpenAiProvider(named)
  return {
    ...provider,
    models: (context) => provider.models(context),
    complete: (request, context) => provider.complete(request, context),
    countTokens: (text) => provider.countTokens(text),
  }
}

describe('a call that broke off before its first text is charged', () => {
  test('for its input, once the head of the answer has come', async () => {
    await using upstream = await startUpstream({ answer: () => ({ hangs: 'body' }) })
    const [[input, output] = []] = counts(await left(openAi(upstream.base_url), 'gpt-4o', upstream))
    assert.ok(input! > 0)
    assert.equal(output, 0)
  })

  test('by the counts in the chunks of an OpenAI-compatible server', async () => {
    const usage = { prompt_tokens: 70, completion_tokens: 30 }
    const events = [{ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }], usage }]
    await using upstream = await startUpstream({ answer: () => ({ events: [...events, '{}'], hangs: 1 }) })
    assert.deepEqual(counts(await left(openAi(upstream.base_url), 'gpt-4o', upstream, 1)), [[70, 30]])
  })

  test('by the counts at the start of an answer of Anthropic', async () => {
    await using upstream = await startAnthropic({ answer: () => ({ hangs: 1 }) })
    const provider = createAnthropicProvider({ client, base_url: upstream.base_url })
    assert.deepEqual(counts(await left(provider, 'claude-opus-5-5', upstream, 1)), [[16, 1]])
  })

  test('by the counts in the chunks of Google', async () => {
    const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 0, thoughtsTokenCount: 500 }
    const thinking = chunk({ candidates: [{ content: { parts: [], role: 'model' }, index: 0 }], usageMetadata })
    await using upstream = await startGoogle({ answer: () => ({ events: [thinking, thinking], hangs: 1 }) })
    const provider = createGoogleProvider({ client, base_url: upstream.base_url })
    assert.deepEqual(counts(await left(provider, 'gemini-3.8-flash', upstream, 1)), [[9, 500]])
  })
})

describe('a server with signs of life', () => {
  test('as comments is waited for', async () => {
    const last = [{ choices: [{ index: 0, delta: { content: 'Late' }, finish_reason: 'stop' }] }, '[DONE]']
    await withMoreTime(40, async (silence_ms) => {
      const slowly = () => new Promise((resolve) => setTimeout(resolve, silence_ms / 2))
      const script: Script = { events: ['', '', '', '', '', '', ...last], comments: true, before: slowly }
      await using upstream = await startUpstream({ answer: () => script })
      const body = { model: 'acme/gpt-4o', messages: [{ role: 'user' as const, content: 'x' }] }
      const { signal } = new AbortController()
      const parts = await collected(modelsOf(openAi(upstream.base_url), silence_ms).complete({ body, signal }))
      assert.deepEqual(parts[0], { type: 'text', text: 'Late' })
    })
  })

  test('as pings is waited for', async () => {
    const pings = Array.from({ length: 300 }, () => event({ type: 'ping' }))
    const [start, ...rest] = [
      event({ type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Late' } }),
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
      event({ type: 'message_stop' }),
    ]
    await using upstream = await startAnthropic({
      answer: () => ({ events: [start!, ...pings, ...rest], split: 'every' }),
    })
    const provider = createAnthropicProvider({ client, base_url: upstream.base_url })
    const body = { model: 'anthropic/claude-opus-5-5', messages: [{ role: 'user' as const, content: 'x' }] }
    const { signal } = new AbortController()
    await withMoreTime(1, async (silence_ms) => {
      const parts = await collected(modelsOf(provider, silence_ms).complete({ body, signal }))
      assert.deepEqual(parts[0], { type: 'text', text: 'Late' })
    })
  })
})
