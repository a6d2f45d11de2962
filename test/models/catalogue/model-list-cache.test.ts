// The cache of model lists: one list and one request at a time for all callers, and only validated, redacted content.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { IdleTimeoutError } from '../../../src/models/calls/idle-timeout.ts'
import { ModelListCache } from '../../../src/models/catalogue/model-list-cache.ts'
import type { Model, Provider } from '../../../src/models/provider.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'

const { signal } = new AbortController()

function giving(listed: unknown): Provider {
  return { ...pricedProvider(), models: async () => listed as readonly Model[] }
}

function listOf(listed: unknown): Promise<readonly Model[]> {
  return new ModelListCache({ now: () => 0 }).list(giving(listed), null, signal)
}

describe('a provider that does not answer', () => {
  test('has one running request for each credential and many callers, and may answer late', async () => {
    const gate = Promise.withResolvers<void>()
    const provider = pricedProvider({ listing: () => gate.promise })
    const listings = new ModelListCache({ now: () => 0, listing_ms: 10 })
    for (let asked = 0; asked < 5; asked++) await assert.rejects(listings.list(provider, 'a', signal), IdleTimeoutError)
    assert.equal(provider.listed, 1)
    await assert.rejects(listings.list(provider, 'b', signal), IdleTimeoutError)
    assert.equal(provider.listed, 2)
    gate.resolve()
    assert.equal((await listings.list(provider, 'a', signal)).length, 2)
    assert.equal(provider.listed, 2)
  })

  test('gets a new request some seconds after a failure, and not before', async () => {
    let hangs = true
    let time = 0
    const stuck = Promise.withResolvers<never>()
    const provider = pricedProvider({ listing: () => (hangs ? stuck.promise : null) })
    const listings = new ModelListCache({ now: () => time, listing_ms: 1_000 })
    const first = listings.list(provider, null, signal)
    stuck.reject(new Error('gone'))
    await assert.rejects(first, /gone/)
    hangs = false
    time = 4_999
    await assert.rejects(listings.list(provider, null, signal), /gone/)
    assert.deepEqual(listings.peek(provider, null), { models: null, failed: true })
    assert.equal(provider.listed, 1)
    time = 5_000
    assert.equal((await listings.list(provider, null, signal)).length, 2)
    assert.equal(provider.listed, 2)
  })

  test('but heeds its timeout counts as silent, not as failed', async () => {
    const heeding = ({ signal: ends }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => ends.addEventListener('abort', () => reject(new Error('aborted'))))
    const provider = pricedProvider({ listing: heeding })
    const listings = new ModelListCache({ now: () => 0, listing_ms: 10 })
    await assert.rejects(listings.list(provider, null, signal), IdleTimeoutError)
  })
})

describe('a request for a list that never settles', () => {
  /** Each request waits until the test gives it models, in the order of the requests. */
  function waiting() {
    const looks: PromiseWithResolvers<readonly Model[]>[] = []
    const models = () => {
      looks.push(Promise.withResolvers())
      return looks.at(-1)!.promise
    }
    const provider: Provider = { ...pricedProvider(), models }
    const give = (look: number, name: string) => looks[look]!.resolve([{ name } as Model])
    return { provider, looks, give }
  }
  const namesOf = (models: readonly Model[]) => models.map(({ name }) => name)

  test('is abandoned after twice the timeout, and its late list replaces no newer one', async () => {
    const { provider, looks, give } = waiting()
    let time = 0
    const listings = new ModelListCache({ now: () => time, listing_ms: 10 })
    const silent = () => assert.rejects(listings.list(provider, null, signal), IdleTimeoutError)
    await silent()
    time = 19
    await silent()
    assert.equal(looks.length, 1)
    time = 20
    const second = listings.list(provider, null, signal)
    assert.equal(looks.length, 2)
    give(1, 'new')
    assert.deepEqual(namesOf(await second), ['new'])
    give(0, 'old')
    await looks[0]!.promise
    await setImmediate()
    assert.deepEqual(namesOf(await listings.list(provider, null, signal)), ['new'])
    assert.equal(looks.length, 2)
  })

  test('still gives the list where none is newer, and does not disturb the request after it', async () => {
    const { provider, looks, give } = waiting()
    let time = 0
    const listings = new ModelListCache({ now: () => time, listing_ms: 10 })
    await assert.rejects(listings.list(provider, null, signal), IdleTimeoutError)
    time = 20
    await assert.rejects(listings.list(provider, null, signal), IdleTimeoutError)
    give(0, 'old')
    await looks[0]!.promise
    await setImmediate()
    assert.deepEqual(namesOf(await listings.list(provider, null, signal)), ['old'])
    give(1, 'new')
    await looks[1]!.promise
    await setImmediate()
    assert.deepEqual(namesOf(await listings.list(provider, null, signal)), ['new'])
    assert.equal(looks.length, 2)
  })

  test('is one of at most 1,000: beyond them the oldest is removed', async () => {
    const { provider, looks } = waiting()
    const listings = new ModelListCache({ now: () => 0 })
    const ended = AbortSignal.abort(new Error('gone'))
    const ask = (credential: number) => assert.rejects(listings.list(provider, String(credential), ended), /gone/)
    for (let credential = 0; credential <= 1_000; credential++) await ask(credential)
    await ask(1)
    assert.equal(looks.length, 1_001)
    await ask(0)
    assert.equal(looks.length, 1_002)
  })
})

describe('a list whose provider fails now', () => {
  function failing(listing_ms = 10) {
    const state = { time: 0, listing: (): unknown => null }
    const provider = pricedProvider({ listing: () => state.listing() })
    const listings = new ModelListCache({ now: () => state.time, listing_ms })
    return { state, provider, listings, ask: () => listings.list(provider, null, signal, ['small']) }
  }

  for (const [how, listing] of [
    ['fails', () => Promise.reject(new Error('down'))],
    ['hangs', () => new Promise(() => {})],
  ] as const) {
    test(`stays in use for an hour, and for calls without limit, while its provider is asked in the background: ${how}`, async () => {
      const { state, provider, listings, ask } = failing()
      await ask()
      state.listing = listing
      for (const time of [60_000, 599_999, 600_000, 3_599_999]) {
        state.time = time
        assert.equal((await ask()).length, 2)
        await setImmediate()
      }
      assert.equal(provider.listed, 4)
      state.time = 3_600_000
      await assert.rejects(ask())
      const { models, failed } = listings.peek(provider, null)
      assert.deepEqual([models?.length, failed], [2, true])
    })
  }

  test('does not serve a caller who looks for a model that the list lacks', async () => {
    const { state, provider, listings } = failing()
    await listings.list(provider, null, signal)
    state.listing = () => Promise.reject(new Error('down'))
    state.time = 5_000
    await assert.rejects(listings.list(provider, null, signal, ['new']), /down/)
    assert.equal((await listings.list(provider, null, signal)).length, 2)
    state.listing = () => null
    state.time = 10_000
    assert.equal((await listings.list(provider, null, signal, ['new'])).length, 2)
    assert.equal(listings.peek(provider, null).failed, false)
  })
})

test('a list is not fresh, and a request not running, where the clock was set back before its time', async () => {
  const gate = Promise.withResolvers<void>()
  let time = 1_000_000
  const provider = pricedProvider({ listing: () => (provider.listed === 2 ? gate.promise : null) })
  const listings = new ModelListCache({ now: () => time, listing_ms: 10 })
  await listings.list(provider, null, signal)
  await listings.list(provider, null, signal)
  assert.equal(provider.listed, 1)
  time = 500_000
  await assert.rejects(listings.list(provider, null, signal), IdleTimeoutError)
  assert.equal(provider.listed, 2)
  time = 0
  assert.equal((await listings.list(provider, null, signal)).length, 2)
  assert.equal(provider.listed, 3)
})

test('unreadable entries are reported once for each provider', async () => {
  const told: string[] = []
  const listings = new ModelListCache({ now: () => 0, unreadable: ({ name }) => void told.push(name) })
  const [odd, even] = [{ ...pricedProvider({ name: 'odd' }), left_out: 2 }, pricedProvider({ name: 'even' })]
  for (const credential of ['a', 'a', 'b'])
    for (const provider of [odd, even]) await listings.list(provider, credential, signal)
  assert.deepEqual(told, ['odd'])
})

describe('in the validation of a list', () => {
  test('a value that is no list is refused', async () => {
    for (const listed of [undefined, null, 'models', {}, 7]) await assert.rejects(listOf(listed), /no list of models/)
  })

  test('an entry without a name is skipped, and other invalid fields get defaults', async () => {
    const odd = [
      null,
      7,
      'small',
      [],
      {},
      { name: '' },
      { name: 5 },
      { name: 'a', id: 'other/a', max_output_tokens: -1 },
    ]
    const unknown = { price: null, max_output_tokens: null, context_length: null, modalities: [], capabilities: [] }
    const model = { id: 'priced/a', name: 'a', title: 'a', tasks: [], ...unknown }
    assert.deepEqual(await listOf(odd), [model])
    const told = { context_length: 9, modalities: ['image'], capabilities: ['tools'], created: 7, size_on_disk: 8 }
    const whole = { ...model, title: 'A', tasks: ['chat'], price: dollars(1, 2, 3), max_output_tokens: 5, ...told }
    assert.deepEqual(await listOf([{ ...whole, tasks: ['chat', 7], modalities: ['image', 'smell'] }]), [whole])
  })

  test('an impossible price becomes null', async () => {
    const prices = [
      7,
      {},
      { ...dollars(1, 2), currency: 'usd' },
      { ...dollars(1, 2), currency: undefined },
      dollars(-1, 2),
      dollars(1, Number.NaN),
      dollars(1, 2, Number.POSITIVE_INFINITY),
      dollars(1, 2, 1e13),
      { currency: 'USD', per_request: 1 },
    ]
    for (const price of prices) assert.equal((await listOf([{ name: 'a', price }]))[0]!.price, null, String(price))
    assert.deepEqual((await listOf([{ name: 'a', price: dollars(0, 0) }]))[0]!.price, dollars(0, 0))
  })
})

test('no text of the models contains the key of the request, in any form', async () => {
  const key = 'sk-Planted/key+4711'
  const { price, ...model } = { ...(await pricedProvider().models({ credential: null, signal }))[0]!, name: `a-${key}` }
  const title = `The model of ${encodeURIComponent(key)}`
  const listed = [
    { ...model, title, tasks: ['chat', key], unavailable: btoa(key) },
    { ...model, name: 'plain', title: 'Plain' },
  ]
  const given = await new ModelListCache({ now: () => 0 }).list(giving(listed), key, signal)
  assert.doesNotMatch(JSON.stringify(given), /Planted|UGxhbnRlZ/)
  const [first, second] = given
  assert.equal(first?.name, 'a-[redacted]')
  assert.equal(first?.id, `${giving(listed).name}/a-[redacted]`)
  assert.equal(first?.unavailable, '[redacted]')
  assert.equal(second?.name, 'plain')
  // A caller with another key gets the texts unchanged.
  assert.equal(
    (await new ModelListCache({ now: () => 0 }).list(giving(listed), 'another-key', signal))[0]?.name,
    `a-${key}`,
  )
})

describe('lists for many keys', () => {
  /** Counts requests for its list, which has one model with a long name. */
  function naming(length: number) {
    const provider = pricedProvider()
    let listed = 0
    const models = async () => {
      listed++
      return [{ ...(await provider.models({ credential: null, signal }))[0]!, name: 'n'.repeat(length), title: 't' }]
    }
    return { provider: { ...provider, models } as Provider, listed: () => listed }
  }

  test('are removed, the oldest first, where they are too large together', async () => {
    const { provider, listed } = naming(1_000)
    const listings = new ModelListCache({ now: () => 0, most_characters: 5_000 })
    for (const key of ['a', 'b', 'c']) await listings.list(provider, key, signal)
    assert.equal(listed(), 3)
    assert.equal(listings.peek(provider, 'c').models?.length, 1)
    assert.equal(listings.peek(provider, 'b').models?.length, 1)
    assert.equal(listed(), 3)
    assert.equal(listings.peek(provider, 'a').models, null)
  })

  test('are served even where one list alone exceeds the limit of all', async () => {
    const { provider, listed } = naming(10_000)
    const listings = new ModelListCache({ now: () => 0, most_characters: 5_000 })
    for (let asked = 0; asked < 3; asked++) assert.equal((await listings.list(provider, 'a', signal)).length, 1)
    assert.equal(listed(), 1)
  })
})
