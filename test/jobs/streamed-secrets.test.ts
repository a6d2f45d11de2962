// Secrets that come in pieces, in a streamed output or in chunks: no secret is shown, live, later or after a restart.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { listJobEventsOfType } from '../../src/db/jobs/events.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { EventBody } from '../../src/events/types.ts'
import { listChangedOutputs } from '../../src/sockets/jobs/changed-outputs.ts'
import { graph, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { history, OWNER, outputs, startGated, submit } from './kit.ts'

const KEY = 'planted-key-4711-of-a-server'
const environment = { SVC_SECRET_X: KEY }
const PIECES = [
  'It is ',
  KEY.slice(0, 9),
  KEY.slice(9),
  ', or Bearer ',
  'abc123',
  'def456',
  ', no\\',
  `nBearer ${'f1'.repeat(8)} `,
  'basic',
]
const TOLD = 'It is [redacted], or Bearer [redacted], no\\nBearer [redacted] basic'

const streamed = graph(
  [node('in', 'input.String', { name: 'in', stream: true }), sink('out')],
  ['in.output->out.value'],
)
const textsOf = (events: readonly EventBody[]) =>
  events.flatMap((event) => (event.type === 'output_update' ? [event.value as string] : []))

describe('a secret in pieces', () => {
  test('of a streamed output is in no event, frame or result, and the number of pieces stays the same', async () => {
    await using server = await startGated({ environment })
    const { jobs, events } = server.context.runs
    const job = submit(server, { graph: streamed, acceptsStreamInput: true, hasFollower: true })
    const seen: EventBody[] = []
    const frames: unknown[] = []
    const following = (async () => {
      for await (const { event, frame } of events.follow(job.row.key, 0, AbortSignal.timeout(60_000), job.feed)) {
        if (event) seen.push(event)
        if (frame?.type === 'output_update') frames.push(frame.value)
      }
    })()
    for (const piece of PIECES) assert.equal(job.inputs!.pushInput('in', piece), 'ok')
    assert.equal(job.inputs!.endInput('in'), 'ok')
    await Promise.all([job.settled(), following])
    const { row } = await jobs.get(OWNER, job.row.id)
    const stored = await history(server, row)
    const { out } = outputs(row) as { out: string[] }
    for (const texts of [textsOf(seen), textsOf(stored), frames as string[], out]) {
      assert.equal(texts.join(''), TOLD)
      assert.equal(texts.length, PIECES.length)
    }
    const sequence = stored.findLastIndex(({ type }) => type === 'output_update') + 1
    assert.deepEqual(await listChangedOutputs(server.context.runs, row, 0), [
      { output_name: 'out', value: TOLD, sequence },
    ])
    const types = stored.map((event) =>
      event.type === 'node_status' ? `${event.node_id} ${event.status}` : event.type,
    )
    assert.ok(
      types.lastIndexOf('output_update') < types.indexOf('out completed'),
      'all of it before its node has ended',
    )
  })

  test('that may begin over very many texts of a stream ends the run with a message, before all of them are held back', async () => {
    const long = `${'a'.repeat(20_000)}b`
    await using server = await startGated({ environment: { SVC_SECRET_X: long } })
    const job = submit(server, { graph: streamed, params: { in: Array.from({ length: 5_001 }, () => 'a') } })
    await job.settled()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    const { type, message } = JSON.parse(row.error!)
    assert.equal(type, 'result_too_large')
    assert.match(
      message,
      /More than 5,000 texts of the stream are held back, because together they match the beginning of one of your secrets/,
    )
    const texts = textsOf(await history(server, row))
    assert.equal(texts.join(''), '[redacted]')
  })

  test('that may begin in large texts of a stream is checked in steps, and the texts are published unchanged', async () => {
    const long = `${'a'.repeat(60_000)}b`
    await using server = await startGated({ environment: { SVC_SECRET_X: long } })
    const pieces = [...Array.from({ length: 59 }, () => 'a'.repeat(1_000)), 'c', 'd']
    const job = submit(server, { graph: streamed, params: { in: pieces } })
    await job.settled()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    assert.deepEqual(outputs(row), { out: pieces })
    assert.deepEqual(textsOf(await history(server, row)), pieces)
  })

  test('with a restart between them is not shown, and published pieces are not repeated', async () => {
    const data_dir = temporaryFolder()
    try {
      for (let cut = 1; cut < PIECES.length; cut += 2) {
        let id: string
        {
          await using server = await startGated({ data_dir, environment })
          const job = submit(server, { graph: streamed, acceptsStreamInput: true })
          id = job.row.id
          for (const piece of PIECES.slice(0, cut)) assert.equal(job.inputs!.pushInput('in', piece), 'ok')
          await job.flushed()
        }
        await using server = await startGated({ data_dir, environment })
        const { jobs } = server.context.runs
        const job = await until('the job to run', () => {
          const living = jobs.living(OWNER, id)
          return living?.row.status === 'running' && living
        })
        for (const piece of PIECES.slice(cut)) assert.equal(job.inputs!.pushInput('in', piece), 'ok')
        assert.equal(job.inputs!.endInput('in'), 'ok')
        await job.settled()
        const { row } = await jobs.get(OWNER, id)
        const texts = textsOf(await history(server, row))
        assert.equal(texts.join(''), TOLD)
        assert.equal(texts.length, PIECES.length)
        assert.deepEqual(outputs(row), { out: texts })
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('is shown as far as it is safe when its job is cancelled', async () => {
    await using server = await startGated({ environment })
    const { jobs } = server.context.runs
    const job = submit(server, { graph: streamed, acceptsStreamInput: true })
    for (const piece of ['It is ', KEY.slice(0, 9), KEY.slice(9), ' plan']) job.inputs!.pushInput('in', piece)
    // The third piece is stored once the fourth piece has come, which is held back.
    const stored = () => server.context.store.read((tx) => listJobEventsOfType(tx, job.row.key, 'output_update', 0))
    await until('three pieces to be stored', () => stored().length === 3)
    job.cancel()
    await job.settled()
    const { row } = await jobs.get(OWNER, job.row.id)
    assert.equal(row.status, 'cancelled')
    assert.equal(textsOf(await history(server, row)).join(''), 'It is [redacted] plan')
  })

  test('of chunks is in no frame, of text or of thinking, wherever they interrupt each other', async () => {
    const talking: NodeType = testType('test.Talks', {
      properties: [value],
      outputs: [output],
      async run(_inputs, context) {
        for (const [at, piece] of PIECES.entries()) {
          context.chunk(piece)
          context.chunk(PIECES[at]!, { thinking: true })
        }
        context.chunk('QUJD', { content_type: 'audio' })
        context.chunk('', { done: true })
        context.chunk('after it, plan')
        return { output: null }
      },
    })
    await using server = await startGated({ environment, types: [talking] })
    const { events } = server.context.runs
    const of = graph(
      [source('in', 'x'), node('n', 'test.Talks'), sink('out')],
      ['in.output->n.value', 'n.output->out.value'],
    )
    const job = submit(server, { graph: of, hasFollower: true })
    const joined = { text: '', thinking: '', audio: '' }
    for await (const { frame } of events.follow(job.row.key, 0, AbortSignal.timeout(60_000), job.feed)) {
      if (frame?.type !== 'chunk') continue
      const { content, content_type, thinking } = frame
      joined[content_type === 'audio' ? 'audio' : thinking ? 'thinking' : 'text'] += content
      assert.ok(content !== '' || frame.done, 'no frame says nothing')
    }
    assert.deepEqual(joined, { text: `${TOLD}after it, plan`, thinking: TOLD, audio: 'QUJD' })
  })
})
