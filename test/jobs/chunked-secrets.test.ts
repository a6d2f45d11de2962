// Secrets in concurrent chunks of a node's firings, in the results of nodes, and in texts that were cut off: no secret is shown.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { JobFrame } from '../../src/events/types.ts'
import { graph, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { type TestServer, until } from '../helpers/server.ts'
import { history, OWNER, startGated, submit } from './kit.ts'

const KEY = 'planted-key-4711-of-a-server'
const environment = { SVC_SECRET_X: KEY }

/** Each firing outputs the texts that the test gives it, by its input value. */
class Speakers {
  readonly #firings = new Map<unknown, { chunk: NodeContext['chunk']; leave: () => void }>()
  readonly type: NodeType = testType('test.Speaks', {
    properties: [value],
    outputs: [output],
    run: (inputs, context) =>
      new Promise((resolve) => {
        this.#firings.set(inputs.value, {
          chunk: (content, options) => context.chunk(content, options),
          leave: () => resolve({ output: null }),
        })
      }),
  })

  get begun(): number {
    return this.#firings.size
  }

  say(who: string, ...pieces: string[]): void {
    for (const piece of pieces) this.#firings.get(who)!.chunk(piece)
  }

  end(who: string): void {
    this.#firings.get(who)!.chunk('', { done: true })
    this.leave(who)
  }

  /** Ends a firing before it has output all of its text. */
  leave(who: string): void {
    this.#firings.get(who)!.leave()
  }
}

const speaking = graph(
  [source('in', ['a', 'b']), node('each', 'control.ForEach'), node('n', 'test.Speaks'), sink('out')],
  ['in.output->each.list', 'each.item->n.value', 'n.output->out.value'],
)

async function chunksOf(of: typeof speaking, speakers: Speakers, say: () => void): Promise<string> {
  await using server = await startGated({ environment, types: [speakers.type] })
  const job = submit(server, { graph: of, hasFollower: true })
  let joined = ''
  const following = (async () => {
    for await (const { frame } of server.context.runs.events.follow(
      job.row.key,
      0,
      AbortSignal.timeout(60_000),
      job.feed,
    ))
      if (frame?.type === 'chunk') joined += frame.content
  })()
  await until('both to be under way', () => speakers.begun === 2)
  say()
  await Promise.all([job.settled(), following])
  return joined
}

describe('two firings of a node that stream text at once', () => {
  test('show no secret when one ends in the middle of the secret of the other', async () => {
    const speakers = new Speakers()
    const joined = await chunksOf(speaking, speakers, () => {
      speakers.say('a', `It is ${KEY.slice(0, 16)}`)
      speakers.say('b', 'fine.')
      speakers.end('b')
      speakers.say('a', `${KEY.slice(16)} ok`)
      speakers.end('a')
    })
    assert.equal(joined, 'It is fine.[redacted] ok')
  })

  test('show no secret when their pieces come in turn', async () => {
    const speakers = new Speakers()
    const joined = await chunksOf(speaking, speakers, () => {
      for (let at = 0; at < KEY.length; at += 5) for (const who of ['a', 'b']) speakers.say(who, KEY.slice(at, at + 5))
      for (const who of ['a', 'b']) speakers.end(who)
    })
    assert.equal(joined, '[redacted][redacted]')
  })
})

const pieces: NodeType = testType('test.Pieces', {
  outputs: [
    { ...output, name: 'text', stream: true },
    { ...output, name: 'whole' },
  ],
  *run() {
    for (const text of ['It is ', KEY.slice(0, 1), KEY.slice(1)]) yield { text }
    return { whole: 'said' }
  },
})

test('the shown result of a node has single texts, and no text items of a stream', async () => {
  await using server = await startGated({ environment, types: [pieces] })
  const of = graph(
    [
      node('n', 'test.Pieces'),
      node('by', 'text.Template', { template: '{{piece}}' }),
      node('about', 'text.Template', { template: '{{whole}}' }),
      ...['by', 'about'].map((name) => sink(`out-${name}`)),
    ],
    ['n.text->by.piece', 'n.whole->about.whole', 'by.output->out-by.value', 'about.output->out-about.value'],
  )
  const job = submit(server, { graph: of, hasFollower: true })
  const results = new Map<string, unknown>()
  for await (const { frame } of server.context.runs.events.follow(
    job.row.key,
    0,
    AbortSignal.timeout(60_000),
    job.feed,
  )) {
    const update = frame as JobFrame | null
    if (update?.type !== 'node_update' || update.status !== 'completed') continue
    results.set(update.node_id, update.result)
  }
  assert.deepEqual(results.get('n'), { whole: 'said' })
  assert.deepEqual(results.get('by'), {})
  assert.deepEqual(results.get('about'), { output: 'said' })
})

describe('a job that is cancelled in the middle of a secret', () => {
  const streamed = graph(
    [node('in', 'input.String', { name: 'in', stream: true }), sink('out')],
    ['in.output->out.value'],
  )

  test('stores and shows no part of it', async () => {
    await using server = await startGated({ environment })
    // On a busy machine the cancellation may come before the second piece, and then there is no secret to hide.
    let told = await toldOfCancelled(server)
    for (let more = 20; told.length < 2 && more > 0; more--) told = await toldOfCancelled(server)
    assert.deepEqual(told, ['It is ', '[redacted]'])
  })

  /** The output values of a job that is cancelled right after the first half of a secret. */
  async function toldOfCancelled(server: TestServer): Promise<unknown[]> {
    const { jobs, events } = server.context.runs
    const job = submit(server, { graph: streamed, acceptsStreamInput: true, hasFollower: true })
    for (const piece of ['It is ', KEY.slice(0, 20)]) job.inputs!.pushInput('in', piece)
    const live = events.follow(job.row.key, 0, AbortSignal.timeout(60_000), job.feed)
    for await (const one of live) if (JSON.stringify(one).includes('It is ')) break
    job.cancel()
    await job.settled()
    const { row } = await jobs.get(OWNER, job.row.id)
    assert.equal(row.status, 'cancelled')
    assert.ok(!JSON.stringify(row).includes(KEY.slice(0, 8)))
    const all = await history(server, row)
    assert.ok(!JSON.stringify(all).includes(KEY.slice(0, 8)))
    return all.flatMap((event) => (event.type === 'output_update' ? [event.value] : []))
  }

  test('shows no part of it in chunks', async () => {
    const speakers = new Speakers()
    await using server = await startGated({ environment, types: [speakers.type] })
    const job = submit(server, { graph: speaking, hasFollower: true })
    let joined = ''
    const following = (async () => {
      for await (const { frame } of server.context.runs.events.follow(
        job.row.key,
        0,
        AbortSignal.timeout(60_000),
        job.feed,
      ))
        if (frame?.type === 'chunk') joined += frame.content
    })()
    await until('both to be under way', () => speakers.begun === 2)
    speakers.say('a', `It is ${KEY.slice(0, 20)}`)
    speakers.say('b', ', or a plan')
    job.cancel()
    for (const who of ['a', 'b']) speakers.leave(who)
    await Promise.all([job.settled(), following])
    assert.equal(joined, 'It is , or a [redacted]plan')
  })
})
