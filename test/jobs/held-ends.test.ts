// What a run holds back at its end, since it may begin a long secret: it is cut off in time slices, and published with the end of the job.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { OutputPublication } from '../../src/jobs/outputs/publication.ts'
import { RedactedItems } from '../../src/redaction/streams/redacted-items.ts'
import { RedactedStream } from '../../src/redaction/streams/redacted-stream.ts'
import { graph, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { agentProvider } from '../helpers/agent-provider.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, type GatedServer, history, OWNER, startGated, submit } from './kit.ts'

const environment = { SVC_SECRET_X: `${'a'.repeat(20_000)}b` }
const PIECES = Array.from({ length: 6 }, () => 'a'.repeat(1_000))
const HELD = PIECES.join('')
const OUTPUTS = ['out1', 'out2', 'out3']

const streamed: Graph = graph(
  [node('in', 'input.String', { name: 'in', stream: true }), ...OUTPUTS.map((name) => sink(name))],
  OUTPUTS.map((name) => `in.output->${name}.value`),
)

/** Starts a job whose outputs hold all pieces back. */
async function submitHolding(t: TestContext, server: GatedServer) {
  const pushed = t.mock.method(RedactedItems.prototype, 'push').mock
  const job = submit(server, { graph: streamed, acceptsStreamInput: true })
  for (const piece of PIECES) assert.equal(job.inputs!.pushInput('in', piece), 'ok')
  const isHolding = (items: unknown) => (items as RedactedItems).undecided === HELD.length
  await until('the outputs to hold all pieces', () => {
    const streams = new Set(pushed.calls.map((call) => call.this))
    return streams.size === OUTPUTS.length && [...streams].every(isHolding)
  })
  return job
}

/** The numbers of characters that a stream held each time when it was cut off at once. */
function recordCuts(t: TestContext): number[] {
  const held: number[] = []
  const { cut } = RedactedStream.prototype
  t.mock.method(RedactedStream.prototype, 'cut', function (this: RedactedStream) {
    held.push(this.waiting)
    return cut.call(this)
  })
  return held
}

const type: NodeType = testType('test.Holds', {
  properties: [value],
  outputs: [output],
  run: (_inputs, context) =>
    new Promise((_resolve, reject) => {
      context.chunk(HELD)
      context.chunk(HELD, { thinking: true })
      context.signal.addEventListener('abort', () => reject(context.signal.reason))
    }),
})

describe('a text that a run holds back at its end', () => {
  test('of an output is cut off in time slices when the job is cancelled', async (t) => {
    await using server = await startGated({ environment })
    const job = await submitHolding(t, server)
    const cuts = recordCuts(t)
    job.cancel()
    await job.settled()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    assert.equal(row.status, 'cancelled')
    const events = await history(server, row)
    for (const name of OUTPUTS) {
      const texts = events.flatMap((event) =>
        event.type === 'output_update' && event.output_name === name ? [event.value] : [],
      )
      assert.deepEqual(texts, ['[redacted]', ...PIECES.slice(1).map(() => '')])
    }
    assert.deepEqual(cuts, [])
  })

  test('of a chunk is cut off in time slices, and shown before the end', async (t) => {
    await using server = await startGated({ environment, types: [type] })
    const cuts = recordCuts(t)
    const of = graph(
      [source('in', 'x'), node('n', 'test.Holds'), sink('out')],
      ['in.output->n.value', 'n.output->out.value'],
    )
    const job = submit(server, { graph: of, hasFollower: true })
    await until('the job to run', () => job.row.status === 'running')
    const shown: unknown[] = []
    const following = (async () => {
      const { events } = server.context.runs
      for await (const { frame } of events.follow(job.row.key, 0, AbortSignal.timeout(60_000), job.feed)) {
        if (frame?.type === 'chunk') shown.push([frame.content, frame.thinking])
        if (frame?.type === 'job_update' && frame.status === 'cancelled') shown.push('end')
      }
    })()
    job.cancel()
    await Promise.all([job.settled(), following])
    assert.deepEqual(shown, [['[redacted]', true], ['[redacted]', false], 'end'])
    assert.ok(Math.max(0, ...cuts) < HELD.length, `${cuts}`)
  })

  test('of a suspended job is cut off in time slices, and published when the job is cancelled', async (t) => {
    const cuts = recordCuts(t)
    const asks = { say: PIECES, calls: [{ name: 'human_Approval', args: { message: 'ok?', value: 1 } }] }
    await using server = await startServer({ environment, providers: [agentProvider(() => asks)] })
    const { jobs } = server.context.runs
    const agent = node('a', 'agent.Run', { model: 'agent/brain', prompt: 'x', tools: ['human.Approval'] })
    const { id } = submit(server, { graph: graph([agent, sink('text')], ['a.text->text.value']) }).row
    await until('the job to wait', async () => {
      const { row, active } = await jobs.get(OWNER, id)
      return row.status === 'paused' && active === null
    })
    assert.ok(Math.max(0, ...cuts) < HELD.length, `${cuts}`)
    await jobs.cancel(OWNER, id)
    const texts = (await history(server, await ended(server, id))).flatMap((event) =>
      event.type === 'output_update' ? [event.value] : [],
    )
    assert.equal(texts.join(''), '[redacted]')
  })

  test('that cannot be published lets the job fail, and frees its slot', async (t) => {
    await using server = await startGated({ environment: { ...environment, SVC_MAX_CONCURRENT_JOBS: '1' } })
    const pushed = t.mock.method(RedactedItems.prototype, 'push').mock
    const job = submit(server, { graph: streamed, acceptsStreamInput: true })
    assert.equal(job.inputs!.pushInput('in', 'a'.repeat(100)), 'ok')
    await until('the outputs to hold the piece', () => pushed.callCount() === OUTPUTS.length)
    const broken = t.mock.method(OutputPublication.prototype, 'end', () => {
      throw new Error('This cannot be published.')
    })
    job.cancel()
    await job.settled()
    broken.mock.restore()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    assert.equal(row.status, 'failed')
    const next = submit(server, { graph: graph([source('in', 'x'), sink('out')], ['in.output->out.value']) })
    await next.settled()
    assert.equal((await server.context.runs.jobs.get(OWNER, next.row.id)).row.status, 'completed')
  })

  test('that cannot be cut off lets the job fail', async (t) => {
    await using server = await startGated({ environment })
    const job = await submitHolding(t, server)
    t.mock.method(RedactedItems.prototype, 'cutSteps', () => {
      throw new Error('This cannot be cut off.')
    })
    job.cancel()
    await job.settled()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    assert.equal(row.status, 'failed')
    assert.equal((await history(server, row)).filter(({ type }) => type === 'output_update').length, 0)
  })
})
