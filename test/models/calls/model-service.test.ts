// The model service: the resolution of names, credentials, the usage of calls, and failures of providers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import type { ModelPart, ModelRequest, ModelUsage } from '../../../src/engine/node-api/services/models.ts'
import { createUnbilledContext } from '../../../src/models/billing/billing-context.ts'
import { ModelService } from '../../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../../src/models/catalogue/model-list-cache.ts'
import type { CompletionRequest, Provider } from '../../../src/models/provider.ts'
import { createBuiltinRegistry, ProviderRegistry } from '../../../src/models/providers/registry.ts'
import { dollars, type PricedOptions, pricedProvider, type Script } from '../../helpers/priced-provider.ts'
import { until } from '../../helpers/server.ts'
import { collected } from '../kit.ts'

interface Setting {
  providers?: readonly Provider[]
  secrets?: Readonly<Record<string, string>>
  silence_ms?: number
  now?: () => number
}

function access({ providers = [], secrets = {}, silence_ms = 60_000, now = () => 0 }: Setting) {
  const models = new ModelService({
    providers: createBuiltinRegistry(providers),
    model_lists: new ModelListCache({ now }),
    idle_timeout_ms: silence_ms,
  })
  return models.accessFor(createUnbilledContext((name) => (Object.hasOwn(secrets, name) ? secrets[name]! : null)))
}

type More = Partial<Omit<ModelRequest, 'body'>> & Partial<CompletionRequest>

function request({ signal = new AbortController().signal, used, ...more }: More = {}): ModelRequest {
  const body: CompletionRequest = {
    model: 'priced/small',
    messages: [{ role: 'user', content: 'hello there' }],
    ...more,
  }
  return { body, signal, ...(used ? { used } : {}) }
}

async function all(setting: Setting, more: More = {}): Promise<{ text: string; use: ModelUsage }> {
  const parts = await collected(access(setting).complete(request(more)))
  const end = parts.pop() as Extract<ModelPart, { type: 'end' }>
  assert.equal(end.type, 'end')
  return { text: parts.map((part) => (part.type === 'text' ? part.text : '?')).join(''), use: end.use }
}

const scripted = (script: Script, more: PricedOptions = {}) => pricedProvider({ ...more, answer: () => script })

/** For `assert.rejects`: a NodeError with this type, message and cause, which is for the log. */
function told(type: string, message: RegExp, cause?: unknown): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof NodeError, String(error))
    assert.equal(error.type, type)
    assert.match(error.message, message)
    if (cause !== undefined) assert.equal(error.cause, cause)
    return true
  }
}

/** Waits by turns of the event loop, since the timers are mocked. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition() && turns < 1_000; turns++) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(condition())
}

const hanging = () => new Promise<never>(() => {})
const heeding = (signal: AbortSignal) => once(signal, 'abort')

describe('a name of a model', () => {
  test('with a provider is found there, also with slashes', async () => {
    const priced = pricedProvider({ models: { 'a/b': dollars(1, 2) } })
    assert.equal((await all({ providers: [priced] }, { model: 'priced/a/b' })).use.model, 'priced/a/b')
    assert.equal(priced.calls[0]!.request.model, 'a/b')
  })

  test('without a provider means the default provider, or the only one that has the model', async () => {
    const [one, two] = [
      pricedProvider({ name: 'one' }),
      pricedProvider({ name: 'two', models: { echo: null, other: null } }),
    ]
    const setting = { providers: [one, two] }
    assert.equal((await all(setting, { model: 'echo' })).use.model, 'builtin/echo')
    assert.equal((await all(setting, { model: 'small' })).use.model, 'one/small')
    assert.equal((await all(setting, { model: 'other' })).use.model, 'two/other')
    const both = { providers: [one, pricedProvider({ name: 'three' })] }
    const message = /^Several providers have a model "small": use one of "one\/small", "three\/small"\.$/
    await assert.rejects(all(both, { model: 'small' }), told('model_not_found', message))
  })

  test('that no provider has is not found, and shortened in the message', async () => {
    const setting = { providers: [pricedProvider()] }
    const missing = (model: string, message: RegExp) =>
      assert.rejects(all(setting, { model }), told('model_not_found', message))
    await missing('priced/large', /^The provider "priced" has no model "large"\. GET \/v1\/models lists/)
    await missing('large', /^No provider has a model "large"\. Models are named provider\/name\.$/)
    await missing('nobody/small', /^There is no provider "nobody" of models\. GET \/v1\/models lists/)
    await missing('priced/', /^The provider "priced" has no model ""/)
    await missing('/small', /^There is no provider "" of models\. GET/)
    await missing('x'.repeat(5_000), /^No provider has a model "x{100}…"/)
  })

  test('without a provider skips providers that need a secret or give no list, and keeps the cause for the log', async () => {
    const cause = new Error('no route')
    const broken = pricedProvider({ name: 'broken', listing: () => Promise.reject(cause) })
    const locked = pricedProvider({ name: 'locked', credential: 'LOCKED_KEY' })
    assert.equal((await all({ providers: [locked, pricedProvider()] }, { model: 'small' })).use.model, 'priced/small')
    await assert.rejects(all({ providers: [broken] }, { model: 'small' }), told('model_not_found', /small/, cause))
  })

  test("of a provider that does not list its models is refused without the provider's own words", async () => {
    const cause = new Error('401 for key-12345678')
    const providers = [pricedProvider({ listing: () => Promise.reject(cause) })]
    const message = /^The provider "priced" did not list its models\.$/
    await assert.rejects(all({ providers }), told('provider_failed', message, cause))
    assert.equal(pricedProviderCalls(providers), 0)
  })

  test('is looked up in a list that is requested once a minute for each credential, and stays in use after a failure', async () => {
    let now = 0
    let failing = false
    const priced = pricedProvider({
      credential: 'KEY',
      listing: () => {
        if (failing) throw new Error('down')
      },
    })
    const models = new ModelService({
      providers: new ProviderRegistry([priced]),
      model_lists: new ModelListCache({ now: () => now }),
    })
    const ask = (key: string) => collected(models.accessFor(createUnbilledContext(() => key)).complete(request()))
    await Promise.all([ask('a'), ask('a'), ask('a')])
    assert.equal(priced.listed, 1)
    await ask('b')
    assert.equal(priced.listed, 2)
    now += 59_999
    await ask('a')
    assert.equal(priced.listed, 2)
    now += 1
    failing = true
    await ask('a')
    await ask('a')
    assert.equal(priced.listed, 3)
    failing = false
    now += 5_000
    await ask('a')
    assert.equal(priced.listed, 4)
  })

  test('without a provider waits for no provider whose last list failed, and for no second request', async () => {
    let looks = 0
    const late = pricedProvider({
      name: 'late',
      listing: () => (looks++ === 0 ? Promise.reject(new Error()) : hanging()),
    })
    const priced = pricedProvider()
    let now = 0
    const model_lists = new ModelListCache({ now: () => now, listing_ms: 60_000 })
    const models = new ModelService({ providers: createBuiltinRegistry([late, priced]), model_lists }).accessFor(
      createUnbilledContext(() => null),
    )
    const ask = () => collected(models.complete(request({ model: 'small' })))
    await ask()
    for (now of [4_999, 5_000, 60_000, 300_000, 9_000_000]) await ask()
    assert.ok(looks > 1)
    assert.equal(priced.calls.length, 6)
  })

  test('whose provider gives no list is called as the provider describes it', async () => {
    const unlisted = (name: string) => ({
      id: `x/${name}`,
      name,
      title: name,
      tasks: [],
      price: null,
      max_output_tokens: 7,
    })
    for (const listing of [() => Promise.reject(new Error('no route')), hanging]) {
      const priced = { ...pricedProvider({ listing }), unlisted }
      const providers = new ProviderRegistry([priced, pricedProvider({ name: 'other' })], 'priced')
      const model_lists = new ModelListCache({ now: () => 0, listing_ms: 20 })
      const models = new ModelService({ providers, model_lists }).accessFor(createUnbilledContext(() => null))
      for (const model of ['priced/small', 'priced/small', 'small', 'any'])
        assert.ok((await collected(models.complete(request({ model })))).length > 1)
      assert.equal(priced.calls.length, 4)
      assert.deepEqual(await models.capabilities('any', new AbortController().signal), [])
      await assert.rejects(
        collected(models.complete(request({ model: 'priced/' }))),
        told('model_not_found', /no model ""/),
      )
      await assert.rejects(collected(models.complete(request({ model: 'any', max_tokens: 8 }))), /at most 7 tokens/)
    }
  })
})

test('a model that was added after the list is found, also without its provider, and not every miss requests the list', async () => {
  let now = 0
  const models: Record<string, ReturnType<typeof dollars>> = {}
  const priced = pricedProvider({ models })
  const setting = { providers: [priced], now: () => now }
  const model_lists = new ModelListCache({ now: () => now })
  const shared = new ModelService({ providers: createBuiltinRegistry([priced]), model_lists }).accessFor(
    createUnbilledContext(() => null),
  )
  const ask = (model: string) => collected(shared.complete(request({ model })))
  await assert.rejects(ask('priced/new'), told('model_not_found', /has no model "new"/))
  now += 4_999
  await assert.rejects(ask('priced/new'), told('model_not_found', /has no model "new"/))
  assert.equal(priced.listed, 1)
  models.new = dollars(0, 0, 1)
  now += 1
  await ask('priced/new')
  assert.equal(priced.listed, 2)
  models.newer = dollars(0, 0, 1)
  now += 10_000
  await ask('new')
  assert.equal(priced.listed, 2)
  await ask('newer')
  assert.equal(priced.listed, 3)
  assert.equal((await all(setting, { model: 'newer' })).use.model, 'priced/newer')
})

function pricedProviderCalls(providers: readonly ReturnType<typeof pricedProvider>[]): number {
  return providers.reduce((sum, { calls }) => sum + calls.length, 0)
}

describe('a credential', () => {
  test('is the owner’s secret with the name that the provider requires', async () => {
    const priced = pricedProvider({ credential: 'PRICED_KEY' })
    await all({ providers: [priced], secrets: { PRICED_KEY: 'the key' } })
    assert.deepEqual(
      priced.calls.map(({ credential }) => credential),
      ['the key'],
    )
  })

  test('that is missing is named, and no request is sent', async () => {
    const priced = pricedProvider({ credential: 'PRICED_KEY' })
    const message =
      /^The provider "priced" needs the secret "PRICED_KEY"\. Set it with PUT \/api\/secrets\/PRICED_KEY, or PRICED_KEY in the server's environment\.$/
    await assert.rejects(all({ providers: [priced] }), told('unknown_secret', message))
    assert.deepEqual([priced.calls.length, priced.listed], [0, 0])
  })
})

describe('what a call used', () => {
  const used = async (script: Script, more: PricedOptions = {}, model = 'priced/small') =>
    (await all({ providers: [scripted(script, more)] }, { model })).use

  test('is the provider’s count, at its price', async () => {
    const models = { small: dollars(10, 30, 0.5) }
    const use = await used({ usage: { input_tokens: 200_000, output_tokens: 100_000 } }, { models })
    const cost = { amount: 5.5, currency: 'USD', reported: false }
    assert.deepEqual(use, { model: 'priced/small', input_tokens: 200_000, output_tokens: 100_000, cost })
  })

  test('costs what the provider reports, if it reports a cost', async () => {
    const { cost } = await used({ usage: { input_tokens: 1, output_tokens: 1, cost: 0.25 } })
    assert.deepEqual(cost, { amount: 0.25, currency: 'USD', reported: true })
  })

  test('is counted here where the provider does not count, or counts implausibly', async () => {
    for (const usage of [
      null,
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: Number.NaN, output_tokens: -3, cost: -1 },
      { input_tokens: 1.5, output_tokens: Number.POSITIVE_INFINITY, cost: Number.NaN },
      { input_tokens: 2e12, output_tokens: 1e15, cost: 1e308 },
      { input_tokens: '7', output_tokens: {}, cost: '1' } as never,
      7 as never,
    ]) {
      const use = await used({ usage })
      assert.deepEqual([use.input_tokens, use.output_tokens], [2, 3])
      assert.deepEqual(use.cost, { amount: (2 * 1 + 3 * 2) / 1_000_000, currency: 'USD', reported: false })
    }
    const { input_tokens, output_tokens } = await used({ endless: true, pieces: ['\n'] })
    assert.deepEqual([input_tokens, output_tokens], [2, 1])
  })

  test('has no cost without a price or a reported cost, and no tokens without text', async () => {
    assert.equal((await used({}, {}, 'priced/free')).cost, null)
    const reported = await used({ usage: { input_tokens: 1, output_tokens: 1, cost: 3 } }, {}, 'priced/free')
    assert.deepEqual(reported.cost, { amount: 3, currency: 'USD', reported: true })
    assert.equal((await used({ pieces: ['', ''] })).output_tokens, 0)
  })

  test('is reported once: before the end, or when a call breaks off after its first text', async () => {
    const tell = async (script: Script, read: (parts: AsyncGenerator<ModelPart>) => Promise<unknown>) => {
      const uses: ModelUsage[] = []
      const provider = scripted(script)
      const parts = access({ providers: [provider] }).complete(request({ used: (use) => void uses.push(use) }))
      await read(parts).catch(() => {})
      assert.ok(provider.calls.every(({ ended }) => ended))
      return uses.map(({ output_tokens }) => output_tokens)
    }
    const whole = (parts: AsyncGenerator<ModelPart>) => collected(parts)
    const first = async (parts: AsyncGenerator<ModelPart>) => {
      await parts.next()
      await parts.return(undefined)
      // The end of the provider's generator takes a turn.
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(await tell({}, whole), [3])
    assert.deepEqual(await tell({}, first), [1])
    assert.deepEqual(await tell({ fails: { before: 2, with: new Error('cut') } }, whole), [2])
    assert.deepEqual(await tell({ fails: { before: 0, with: new Error('no') } }, whole), [])
  })
})

describe('a provider that fails', () => {
  const failing = async (script: Script, more: Setting = {}) => {
    const provider = scripted(script)
    const parts: string[] = []
    const read = async () => {
      for await (const part of access({ ...more, providers: [provider] }).complete(request()))
        parts.push(part.type === 'text' ? part.text : 'end')
    }
    return { provider, parts, ended: read() }
  }

  test('at once, or after some pieces, is reported without its own words', async () => {
    const cause = new Error('upstream says key-12345678 is wrong')
    for (const before of [0, 2, 3]) {
      const { parts, ended } = await failing({ fails: { before, with: cause } })
      await assert.rejects(ended, told('provider_failed', /^The provider "priced" failed to answer\.$/, cause))
      assert.equal(parts.length, before)
    }
    const refusing: Provider = {
      ...pricedProvider(),
      complete() {
        throw cause
      },
    }
    await assert.rejects(all({ providers: [refusing] }), told('provider_failed', /failed to answer/, cause))
    const own = new NodeError('a word of its own', 'anything')
    const { ended } = await failing({ fails: { before: 1, with: own } })
    await assert.rejects(ended, told('provider_failed', /failed to answer/, own))
  })

  test('by invalid parts is reported with the same message', async () => {
    const parts = [
      undefined,
      null,
      7,
      'text',
      {},
      { type: 'text' },
      { type: 'text', text: 5 },
      { type: 'more', text: 'x' },
    ]
    for (const part of parts) {
      const odd: Provider = {
        ...pricedProvider(),
        async *complete() {
          yield part as never
        },
      }
      await assert.rejects(
        all({ providers: [odd] }),
        told('provider_failed', /^The provider "priced" failed to answer\.$/),
      )
    }
  })

  test('to count tokens, or counts them implausibly, gets an estimate', async () => {
    const odd = [() => Number.NaN, () => -1, () => Number.POSITIVE_INFINITY, () => '3', () => assert.fail('no')]
    for (const countTokens of odd) {
      const provider = { ...scripted({ usage: null }), countTokens } as Provider
      const { use } = await all({ providers: [provider] })
      assert.deepEqual([use.input_tokens, use.output_tokens], [3, 4])
    }
  })

  test('by silence is abandoned, whether or not it heeds its signal', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    for (const wait of [hanging, heeding]) {
      const { provider, parts, ended } = await failing({ waits: { before: 1, for: wait } }, { silence_ms: 60_000 })
      await turnsUntil(() => parts.length === 1)
      t.mock.timers.tick(60_000)
      await assert.rejects(ended, told('provider_failed', /^The provider "priced" was silent for too long\.$/))
      assert.deepEqual(parts, ['one'])
      assert.ok(provider.calls[0]!.signal.aborted)
    }
  })

  test('to list its models in time is abandoned as well', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const provider = pricedProvider({ listing: hanging })
    const ended = all({ providers: [provider] })
    t.mock.timers.tick(5_000)
    await assert.rejects(ended, told('provider_failed', /did not list/))
    assert.equal(provider.calls.length, 0)
  })

  test('is not blamed for the time that the caller takes', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const parts = access({ providers: [scripted({})], silence_ms: 60_000 }).complete(request())
    await parts.next()
    t.mock.timers.tick(120_000)
    assert.deepEqual(await parts.next(), { done: false, value: { type: 'text', text: ' two' } })
    await parts.return(undefined)
  })

  test('by an endless answer is cut off', async () => {
    const provider = scripted({ pieces: Array.from({ length: 12 }, () => 'x'.repeat(1_000_000)) })
    const message = /^The model "priced\/small" gave more than 10,000,000 characters\.$/
    await assert.rejects(all({ providers: [provider] }), told('too_large', message))
    await until('its end', () => provider.calls[0]!.ended)
  })
})

describe('a call', () => {
  test('that is aborted ends at once with the reason, and so does the provider', async () => {
    for (const wait of [hanging, heeding]) {
      const abort = new AbortController()
      const provider = scripted({ waits: { before: 1, for: wait } })
      const parts = access({ providers: [provider] }).complete(request({ signal: abort.signal }))
      await parts.next()
      const next = parts.next()
      abort.abort(new Error('cancelled by the test'))
      await assert.rejects(next, /cancelled by the test/)
      assert.ok(provider.calls[0]!.signal.aborted)
    }
  })

  test('that was aborted before, or while the list is requested, is never made', async () => {
    const abort = new AbortController()
    const provider = pricedProvider({ listing: () => abort.abort(new Error('in between')) })
    await assert.rejects(all({ providers: [provider] }, { signal: abort.signal }), /in between/)
    await assert.rejects(all({ providers: [provider] }, { signal: abort.signal }), /in between/)
    assert.deepEqual([provider.calls.length, provider.listed], [0, 1])
  })

  test('for more tokens than the model gives is refused', async () => {
    const provider = pricedProvider({ max_output_tokens: 100 })
    const message = /^The model "priced\/small" gives at most 100 tokens, and not 101\.$/
    await assert.rejects(all({ providers: [provider] }, { max_completion_tokens: 101 }), told('bad_input', message))
    await all({ providers: [provider] }, { max_completion_tokens: 100, seed: 7 })
    const { max_completion_tokens, seed } = provider.calls[0]!.request
    assert.deepEqual([provider.calls.length, max_completion_tokens, seed], [1, 100, 7])
  })
})

test('the names of providers must be unique, and fit as the beginning of ids', () => {
  assert.throws(() => createBuiltinRegistry([pricedProvider({ name: 'builtin' })]), /same name/)
  for (const name of ['', 'a/b', ' a', '.a'])
    assert.throws(() => createBuiltinRegistry([pricedProvider({ name })]), /invalid provider name/)
})
