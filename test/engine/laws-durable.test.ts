// Law 67: nothing leaves the process that depends on a firing whose end is not durable.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeServices } from '../../src/engine/node-api/node-services.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { executePlan, type RunOutcome } from '../../src/engine/runtime/execution.ts'
import {
  graph,
  item,
  node,
  output,
  planOf,
  Recorder,
  sink,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { ask } from './waiting.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A journal whose records become durable only some turns after a caller waits for that. */
class SlowJournal extends MemoryJournal {
  durable_size = 0
  asked_durable = 0

  override durable = (): Promise<void> | null => {
    this.asked_durable++
    return this.durable_size < this.size ? this.#commit(this.size) : null
  }

  override commit = (): Promise<void> => this.#commit(this.size)

  async #commit(size: number): Promise<void> {
    for (let left = 5; left > 0; left--) await turn()
    this.durable_size = Math.max(this.durable_size, size)
  }

  /** The journal as an interruption at this moment leaves it. */
  left(): SlowJournal {
    const journal = new SlowJournal(this.records.slice(0, this.durable_size).map((record) => JSON.stringify(record)))
    journal.durable_size = journal.size
    return journal
  }
}

let drawn = 0

/** Returns a value that no two firings share, asynchronously. */
const draw = testType('test.Draw', {
  properties: [value],
  outputs: [output],
  async run({ value: given }) {
    await turn()
    return { output: `${given}:${++drawn}` }
  },
})

const draws: NodeType = {
  ...draw,
  node_type: 'test.Draws',
  outputs: [item],
  async *run({ value: given }) {
    for (let at = 0; at < 3; at++) {
      await turn()
      yield { item: `${given}/${at}:${++drawn}` }
    }
  },
}

const clock = testType('test.Clock', {
  properties: [value],
  outputs: [output],
  run: ({ value: given }, context) => ({ output: `${given}:${context.clock.now()}` }),
})

/** Fails at each first attempt, each time with a new message. */
const failing = testType('test.Failing', {
  properties: [value],
  outputs: [output],
  async run({ value: given }) {
    await turn()
    throw new NodeError(`${given}:${++drawn}`, 'odd')
  },
})

const send = testType('test.Send', {
  properties: [value],
  outputs: [output],
  retry_safe: true,
  async run({ value: given }, context) {
    const url = typeof given === 'string' ? given : JSON.stringify(given)
    await context.services.http.send({ url, signal: context.signal } as never)
    return { output: given }
  },
})

const call = testType('test.Call', {
  properties: [value],
  outputs: [output],
  run: async ({ value: given }, context) => ({ output: (await context.callWorkflow('inner', { it: given })).it }),
})

const TYPES = withTypes(draw, draws, clock, failing, send, call, ask)

const each = (between: string) =>
  graph(
    [source('in', ['a', 'b', 'c']), node('each', 'control.ForEach'), node('it', between), node('send', 'test.Send')],
    ['in.output->each.list', 'each.item->it.value', 'it.output->send.value'],
  )

const through = (type: string, out = 'output', data = {}) =>
  graph(
    [source('in', 'a'), node('it', type, data), node('send', 'test.Send')],
    ['in.output->it.value', `it.${out}->send.value`],
  )

/** The graphs in which a firing sends what others gave, by the source of the value. */
const GRAPHS: Record<string, Graph> = {
  'a result that came later': through('test.Draw'),
  'the time': through('test.Clock'),
  'items of a stream': each('test.Draw'),
  'items that come one after the other': through('test.Draws', 'item'),
  'an aggregate of them': graph(
    [source('in', 'a'), node('it', 'test.Draws'), node('all', 'control.Collect'), node('send', 'test.Send')],
    ['in.output->it.value', 'it.item->all.item', 'all.list->send.value'],
  ),
  'the first of them': graph(
    [
      source('in', 'a'),
      node('it', 'test.Draws'),
      node('first', 'control.Take', { count: 1 }),
      node('send', 'test.Send'),
    ],
    ['in.output->it.value', 'it.item->first.item', 'first.item->send.value'],
  ),
  'a failure that is held': graph(
    [source('in', 'a'), node('it', 'test.Failing'), node('catch', 'control.Catch'), node('send', 'test.Send')],
    ['in.output->it.value', 'it.output->catch.value', 'catch.error->send.value'],
  ),
  'the answer to a request': graph(
    [source('in', 'a'), node('it', 'test.Draw'), node('ask', 'test.Ask'), node('send', 'test.Send')],
    ['in.output->it.value', 'it.output->ask.value', 'ask.output->send.value'],
  ),
  'the output of a called workflow': through('test.Call'),
  'a send in a called workflow': graph(
    [source('in', 'a'), node('it', 'test.Draw'), node('call', 'test.Call')],
    ['in.output->it.value', 'it.output->call.value'],
  ),
}

const INNER = graph(
  [node('in', 'input.Any', { name: 'it' }), node('draw', 'test.Draw'), node('send', 'test.Send'), sink('it')],
  ['in.output->draw.value', 'draw.output->send.value', 'send.output->it.value'],
)

/** Runs a graph on a journal, answering waits; `sent` receives each request. */
async function runOn(of: Graph, journal: MemoryJournal, sent: (url: string) => void): Promise<RunOutcome> {
  const http = {
    async send({ url }: { url: string }) {
      sent(url)
      await turn()
      return {} as never
    },
  }
  const services = { ...noServices, http } as NodeServices
  for (;;) {
    const observer = new Recorder()
    const outcome = await executePlan(planOf(of, TYPES), {
      params: {},
      signal: new AbortController().signal,
      observer,
      services,
      journal: journal.open(),
      seed: 1,
      loadPlan: async () => planOf(INNER, TYPES),
    }).done
    assert.deepEqual(observer.faults, [])
    if (outcome.status !== 'suspended') return outcome
    for (const { firing } of outcome.waiting) journal.answer(firing, 'yes')
  }
}

/** The firing that sends: its value without the random part. */
const keyOf = (url: string) => url.replaceAll(/:\d+/g, '')

describe('when a run is interrupted at a send, no other value of the same firing is sent:', () => {
  for (const [what, of] of Object.entries(GRAPHS)) {
    test(what, async () => {
      const journal = new SlowJournal()
      const sends: { url: string; left: SlowJournal }[] = []
      const outcome = await runOn(of, journal, (url) => sends.push({ url, left: journal.left() }))
      assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
      assert.ok(sends.length > 0)
      for (const { url, left } of sends) {
        assert.ok(left.size > 0)
        const again: string[] = []
        const later = await runOn(of, left, (other) => again.push(other))
        const same = again.filter((other) => keyOf(other) === keyOf(url))
        assert.deepEqual([...new Set(same)], interrupted(later) ? [] : [url])
      }
    })
  }
})

/** Whether the run was interrupted within a stream that cannot resume. */
function interrupted(outcome: RunOutcome): boolean {
  return outcome.status === 'failed' && outcome.error.type === 'node_interrupted'
}

/** A call of each service that leaves the process. */
const SENDS: Record<string, (services: NodeServices) => Promise<unknown>> = {
  'http.send': ({ http }) => http.send({} as never),
  'models.complete': ({ models }) => models.complete({} as never).next(),
  'models.embed': ({ models }) => models.embed({} as never),
  'models.capabilities': ({ models }) => models.capabilities('m', AbortSignal.abort()),
  'assets.load': ({ assets }) => assets.load('asset://a', 1),
  'assets.save': ({ assets }) => assets.save({} as never),
  'vectors.put': ({ vectors }) => vectors.put('i', [], null, AbortSignal.abort()),
  'vectors.remove': ({ vectors }) => vectors.remove('i', null, AbortSignal.abort()),
}

/** Services that count their calls. */
function counting(asked: string[]): NodeServices {
  const count = (name: string) => async () => void asked.push(name)
  return {
    ...noServices,
    http: { send: count('http.send') as never },
    models: {
      async *complete() {
        asked.push('models.complete')
        yield { type: 'text', text: 'a' }
      },
      embed: count('models.embed') as never,
      capabilities: count('models.capabilities') as never,
    },
    assets: { ...noServices.assets, load: count('assets.load') as never, save: count('assets.save') as never },
    vectors: {
      ...noServices.vectors,
      put: count('vectors.put') as never,
      remove: count('vectors.remove') as never,
    },
  }
}

/** `draw -> use`, where `use` calls the services. */
function using(use: (services: NodeServices) => Promise<unknown>, options: Parameters<typeof start>[2] = {}) {
  const type = testType('test.Use', {
    properties: [value],
    outputs: [output],
    retry_safe: true,
    async run(_, { services }) {
      await use(services)
      return { output: 'used' }
    },
  })
  const of = graph(
    [source('in', 'a'), node('it', 'test.Draw'), node('use', 'test.Use')],
    ['in.output->it.value', 'it.output->use.value'],
  )
  return start(of, withTypes(draw, type), { seed: 1, ...options })
}

describe('a run with a journal', () => {
  for (const [name, use] of Object.entries(SENDS)) {
    test(`lets ${name} wait until its records are durable, and no longer`, async () => {
      const asked: string[] = []
      const journal = new MemoryJournal()
      const durable = Promise.withResolvers<void>()
      journal.durable = () => (asked.length === 0 ? durable.promise : null)
      const { execution } = using(use, { services: counting(asked), journal: journal.open() })
      await until(() => journal.size === 1)
      for (let turns = 0; turns < 10; turns++) await turn()
      assert.deepEqual(asked, [])
      durable.resolve()
      assert.equal((await execution.done).status, 'completed')
      assert.deepEqual(asked, [name])
    })
  }

  test('sends nothing if its records cannot become durable, and fails', async () => {
    const asked: string[] = []
    const journal = new MemoryJournal()
    journal.durable = () => Promise.reject(new Error('the disk is full'))
    const { execution, observer } = using(SENDS['http.send']!, { services: counting(asked), journal: journal.open() })
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'internal_error', JSON.stringify(outcome))
    assert.deepEqual([asked, observer.faults.map(String)], [[], ['Error: the disk is full']])
  })

  test('sends nothing after it was cancelled', async () => {
    const asked: string[] = []
    const journal = new MemoryJournal()
    const durable = Promise.withResolvers<void>()
    journal.durable = () => durable.promise
    const { execution, abort } = using(SENDS['http.send']!, { services: counting(asked), journal: journal.open() })
    await until(() => journal.size === 1)
    abort.abort()
    durable.resolve()
    assert.equal((await execution.done).status, 'cancelled')
    for (let turns = 0; turns < 10; turns++) await turn()
    assert.deepEqual(asked, [])
  })

  test('does not ask its journal if nothing leaves the process', async () => {
    const journal = new MemoryJournal()
    journal.durable = () => assert.fail('it is asked')
    const local = async ({ assets, vectors, sandbox, media, tools, secret, redact }: NodeServices) => {
      const calls = [vectors.info, vectors.list, vectors.search, assets.list, sandbox.call, media.run, tools.workflow]
      for (const call of calls) await (call as () => Promise<unknown>)().catch(() => {})
      return [await secret('a'), redact('b')]
    }
    assert.equal((await using(local, { journal: journal.open() }).execution.done).status, 'completed')
  })
})

test('a run without a journal uses the services of its host unchanged', async () => {
  const services = counting([])
  const seen: NodeServices[] = []
  const { execution } = using(async (lent) => seen.push(lent), { services })
  assert.equal((await execution.done).status, 'completed')
  assert.equal(seen[0], services)
})
