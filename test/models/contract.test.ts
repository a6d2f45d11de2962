// The behaviour of every kind of provider: its list, its answers, their end, and its reaction to an abort.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import type { CompletionPart, CompletionRequest } from '../../src/models/provider.ts'
import { validateModels, validatePart } from '../../src/models/providers/shared/provider-data-validation.ts'
import { KINDS, type Mode, type Started } from './contract-kit.ts'
import { blames, partsOf, quickClient, requestOf } from './vendor-kit.ts'

const client = quickClient()
after(() => client[Symbol.asyncDispose]())

/** A field that no refusing provider here supports. */
const BEYOND: readonly Partial<CompletionRequest>[] = [
  { n: 2 },
  { logprobs: true },
  { logit_bias: { 1: 1 } },
  { modalities: ['text', 'audio'] },
  { web_search_options: {} },
  { a_field_of_tomorrow: 'x' },
  { functions: [{ name: 'f' }] },
]

const WORDS = 'Hello from all of us'

for (const [kind, { model, key, refuses, remote, start }] of Object.entries(KINDS))
  describe(`a provider of the kind ${kind}`, () => {
    const context = () => ({ credential: key, signal: new AbortController().signal })
    const request = (more: Partial<CompletionRequest> = {}) =>
      requestOf(model, { messages: [{ role: 'user', content: WORDS }], ...more })
    const reading = ({ provider }: Started, signal = new AbortController().signal) =>
      provider.complete(request(), { credential: key, signal })[Symbol.asyncIterator]()
    const started = (mode: Mode = 'answers') => start(client, mode)

    test('lists its models in a valid form, each once', async () => {
      await using it = await started()
      const { name, models } = it.provider
      const listed = await models.call(it.provider, context())
      const ids = listed.map(({ id }) => id)
      assert.ok(ids.includes(`${name}/${model}`))
      assert.equal(new Set(ids).size, ids.length)
      const believed = validateModels(name, listed)
      for (const [at, one] of listed.entries()) assert.deepEqual({ ...believed[at], ...one }, believed[at])
      assert.equal(it.asked(), 0)
    })

    test('answers with valid parts, and one end part at last', async () => {
      await using it = await started()
      const parts = await partsOf(it.provider, request(), key)
      assert.deepEqual(parts.map(validatePart), parts)
      assert.deepEqual(parts.map(({ type }) => type === 'end').indexOf(true), parts.length - 1)
      assert.ok(parts.some((part) => part.type === 'text' && part.text !== ''))
      const { usage, finish_reason } = parts.at(-1) as Extract<CompletionPart, { type: 'end' }>
      assert.equal(finish_reason, 'stop')
      assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0, JSON.stringify(usage))
    })

    test('sends no request where the signal has aborted before', async () => {
      await using it = await started()
      const reason = new Error('gone before')
      await assert.rejects(reading(it, AbortSignal.abort(reason)).next(), reason)
      if (remote) assert.equal(it.asked(), 0)
    })

    test('ends with its signal in the middle of an answer', async () => {
      await using it = await started('hangs')
      const gone = new AbortController()
      const parts = reading(it, gone.signal)
      assert.equal((await parts.next()).value?.type, 'text')
      const next = parts.next()
      const reason = new Error('gone meanwhile')
      if (remote) gone.abort(reason)
      else await next.then(() => gone.abort(reason))
      await assert.rejects(remote ? next : parts.next(), reason)
      assert.equal((await parts.next()).done, true)
      await it.gone()
    })

    test('ends an answer whose reader stops', async () => {
      await using it = await started('hangs')
      const parts = reading(it)
      await parts.next()
      assert.equal((await parts.return!()).done, true)
      assert.equal((await parts.next()).done, true)
      await it.gone()
    })

    test('counts tokens, zero for an empty text and never more than there are characters', async () => {
      await using it = await started()
      assert.equal(it.provider.countTokens(''), 0)
      fc.assert(
        fc.property(fc.string({ unit: 'binary', maxLength: 50 }), (text) => {
          const count = it.provider.countTokens(text)
          assert.ok(
            Number.isFinite(count) && count >= 0 && Math.ceil(count) <= text.length,
            `${count} of ${text.length}`,
          )
        }),
      )
    })

    if (refuses)
      test('refuses an unsupported field by name before it sends a request', async () => {
        await using it = await started()
        for (const more of BEYOND) {
          const asked = partsOf(it.provider, request(more), key)
          await assert.rejects(asked, blames('unsupported', Object.keys(more)[0]!))
        }
        assert.equal(it.asked(), 0)
        await partsOf(it.provider, request({ n: 1, logprobs: false, logit_bias: {}, tools: [], seed: null }), key)
      })

    if (remote)
      test('shows nothing of its key in the error of a refusal', async () => {
        await using it = await started('refuses')
        await assert.rejects(partsOf(it.provider, request(), key), (error: Error & { fault?: string }) => {
          assert.equal(error.fault, 'rejected')
          assert.doesNotMatch(`${error.message} ${String(error.cause)}`, new RegExp(key!))
          return true
        })
      })
  })
