// Tests the probes of outside services: limited in time, shared, cached for a moment, and their errors only in the log.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PreflightCredentials } from '../../../src/lifecycle/preflight/credentials.ts'
import { ModelAvailabilityCheck } from '../../../src/lifecycle/preflight/model-availability.ts'
import { AvailabilityProbes, probeWithTimeout } from '../../../src/lifecycle/preflight/probes.ts'
import { RequirementSet } from '../../../src/lifecycle/preflight/requirements.ts'
import { createLog } from '../../../src/log.ts'
import { createUnbilledContext } from '../../../src/models/billing/billing-context.ts'
import { ModelService } from '../../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../../src/models/catalogue/model-list-cache.ts'
import type { Model } from '../../../src/models/provider.ts'
import { ProviderRegistry } from '../../../src/models/providers/registry.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { runToCompletion, TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { dollars, type PricedProvider, pricedProvider } from '../../helpers/priced-provider.ts'
import { collected } from '../../models/kit.ts'

const ME = { user_id: '1', workspace_id: null }
const SECRET = 'a-secret-of-the-provider-42'
const never = () => new Promise<never>(() => {})

/** A log whose lines a test reads. */
function written() {
  const lines: string[] = []
  const redactor = new Redactor([SECRET])
  return { lines, log: createLog('info', redactor, { write: (line) => void lines.push(line) }) }
}

function probesOf(limits: { models_ms?: number; runtimes_ms?: number } = {}) {
  const clock = { ms: 1_000_000 }
  const { lines, log } = written()
  const { models_ms, ...more } = limits
  const model_lists = new ModelListCache({ now: () => clock.ms, ...(models_ms ? { listing_ms: models_ms } : {}) })
  return { clock, lines, model_lists, probes: new AvailabilityProbes({ model_lists, log, limits: more }) }
}

async function requirementsOf(
  provider: PricedProvider,
  probes: AvailabilityProbes,
  model = 'priced/small',
  providers = new ProviderRegistry([provider]),
): Promise<string[]> {
  const look = new ModelAvailabilityCheck(
    { providers, probes },
    new PreflightCredentials({ value: () => null }, ME),
    new TimeSliceScheduler().turnsOf('one'),
  )
  const need = { kind: 'model', model, task: 'chat', max_output_tokens: null } as const
  const into = new RequirementSet()
  await look.probe([need])
  look.addRequirements(need, 'node', into)
  return runToCompletion(into.sorted()).map(({ id, status, message }) => `${id} ${status} ${message ?? '-'}`)
}

describe('a probe with a time limit', () => {
  test('returns a result in time', async () => {
    const failed = () => assert.fail('nothing failed')
    assert.deepEqual(await probeWithTimeout(async () => 1, 5_000, failed), { kind: 'known', value: 1 })
  })

  test('ends at its limit even if it ignores the signal, and its later error is ignored', async () => {
    const late = Promise.withResolvers<never>()
    const failures: unknown[] = []
    const looked = await probeWithTimeout(
      () => late.promise,
      20,
      (error) => failures.push(error),
    )
    assert.deepEqual(looked, { kind: 'late' })
    late.reject(new Error('too late'))
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(failures, [])
  })

  test('gets an aborted signal when its time is over', async () => {
    const heard = Promise.withResolvers<void>()
    const look = (signal: AbortSignal) => {
      signal.addEventListener('abort', () => heard.resolve())
      return never()
    }
    assert.deepEqual(await probeWithTimeout(look, 20, () => {}), { kind: 'late' })
    await heard.promise
  })

  test('that throws, at once or later, has failed, and the cause is logged', async () => {
    const cause = new Error('why')
    for (const look of [
      () => {
        throw cause
      },
      () => Promise.reject(cause),
    ]) {
      const failures: unknown[] = []
      assert.deepEqual(await probeWithTimeout(look, 5_000, (error) => failures.push(error)), { kind: 'failed' })
      assert.deepEqual(failures, [cause])
    }
  })
})

describe('the models of a provider', () => {
  test('that hangs are unknown after the limit', async () => {
    const provider = pricedProvider({ listing: never })
    const { probes } = probesOf({ models_ms: 30 })
    assert.deepEqual(await requirementsOf(provider, probes), [
      'priced/small unknown The provider did not answer in time.',
      'priced unknown The provider did not answer in time.',
    ])
  })

  test('whose list fails are unknown; the log has the cause, without secrets', async () => {
    const provider = pricedProvider({
      listing() {
        throw new Error(`refused: ${SECRET}`)
      },
    })
    const { probes, lines } = probesOf()
    assert.deepEqual(await requirementsOf(provider, probes), [
      'priced/small unknown The provider could not be asked.',
      'priced unknown The provider could not be asked.',
    ])
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /refused/)
    assert.ok(!lines[0]!.includes(SECRET))
  })

  test('are listed once for simultaneous preflights, and cached for a moment', async () => {
    const gate = Promise.withResolvers<void>()
    const provider = pricedProvider({ listing: () => gate.promise })
    const { probes, clock } = probesOf()
    const both = Promise.all([probes.models(provider, null), probes.models(provider, null)])
    gate.resolve()
    assert.deepEqual(
      (await both).map(({ kind }) => kind),
      ['known', 'known'],
    )
    assert.equal(provider.listed, 1)
    clock.ms += 59_999
    await probes.models(provider, null)
    assert.equal(provider.listed, 1)
    clock.ms += 1
    await probes.models(provider, null)
    assert.equal(provider.listed, 2)
  })

  test('are never those of another credential', async () => {
    const shown: (string | null)[] = []
    const provider = pricedProvider({ listing: ({ credential }) => shown.push(credential) })
    const { probes } = probesOf()
    for (const credential of ['one', 'two', null, 'one']) await probes.models(provider, credential)
    assert.deepEqual(shown, ['one', 'two', null])
  })

  test('are those that a run finds, in the same list, including new ones', async () => {
    const models: Record<string, ReturnType<typeof dollars>> = { small: dollars(0, 0, 1) }
    const provider = pricedProvider({ models })
    const { probes, model_lists, clock } = probesOf()
    const providers = new ProviderRegistry([provider])
    const run = async (model: string) => {
      const { signal } = new AbortController()
      const request = { body: { model, messages: [] }, signal }
      await collected(
        new ModelService({ providers, model_lists }).accessFor(createUnbilledContext(() => null)).complete(request),
      )
    }
    await run('priced/small')
    await assert.rejects(run('priced/new'), /has no model "new"/)
    assert.equal(provider.listed, 1)
    models.new = dollars(0, 0, 1)
    clock.ms += 10_000
    assert.deepEqual(await requirementsOf(provider, probes, 'priced/small'), [
      'priced/small available -',
      'priced available -',
    ])
    assert.equal(provider.listed, 1)
    assert.deepEqual(await requirementsOf(provider, probes, 'new'), ['priced/new available -', 'priced available -'])
    assert.equal(provider.listed, 2)
    await run('priced/new')
    assert.equal(provider.listed, 2)
  })

  test('whose list hangs are requested once, however many preflights want them', async () => {
    const provider = pricedProvider({ listing: never })
    const { probes } = probesOf({ models_ms: 10 })
    for (let asked = 0; asked < 4; asked++) assert.equal((await probes.models(provider, null)).kind, 'late')
    assert.equal(provider.listed, 1)
  })

  test('whose list failed are requested again some seconds later', async () => {
    let fails = true
    const provider = pricedProvider({
      listing() {
        if (fails) throw new Error('not yet')
      },
    })
    const { probes, clock } = probesOf()
    assert.equal((await probes.models(provider, null)).kind, 'failed')
    fails = false
    assert.equal((await probes.models(provider, null)).kind, 'failed')
    assert.equal(provider.listed, 1)
    clock.ms += 5_000
    const looked = (await probes.models(provider, null)) as { kind: string; value: readonly Model[] }
    assert.deepEqual([looked.kind, looked.value.length], ['known', 2])
  })

  test('are those of the providers that exist when the preflight begins', async () => {
    const { probes } = probesOf()
    const providers = new ProviderRegistry([])
    const listing = () => {
      // The provider is discovered while another one is asked.
      if (!providers.get('later')) providers.add(pricedProvider({ name: 'later' }))
    }
    const priced = pricedProvider({ listing })
    providers.add(priced)
    const told = await requirementsOf(priced, probes, 'nowhere', providers)
    assert.deepEqual(told, ['nowhere missing No provider of this server lists this model.'])
  })

  test('are requested from several providers at the same time', async () => {
    const both = Promise.withResolvers<void>()
    let open = 0
    const listing = () => {
      if (++open === 2) both.resolve()
      return both.promise
    }
    const providers = ['one', 'two'].map((name) => pricedProvider({ name, listing }))
    const { probes } = probesOf()
    const look = new ModelAvailabilityCheck(
      { providers: new ProviderRegistry(providers), probes },
      new PreflightCredentials({ value: () => null }, ME),
      new TimeSliceScheduler().turnsOf('one'),
    )
    const need = { kind: 'model', task: 'chat', max_output_tokens: null } as const
    await look.probe([
      { ...need, model: 'one/small' },
      { ...need, model: 'two/small' },
      { ...need, model: 'two/free' },
    ])
    assert.deepEqual(
      providers.map(({ listed }) => listed),
      [1, 1],
    )
  })
})

test('a runtime that hangs is unknown after its limit', async () => {
  const { probes } = probesOf({ runtimes_ms: 20 })
  assert.deepEqual(await probes.runtime({ name: 'x', title: 'X', status: never }), { kind: 'late' })
})
