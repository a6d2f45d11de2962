// Frames contain no known secret, neither live nor after a reconnect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { StoredJobFrames } from '../../src/sockets/jobs/frames.ts'
import { connect, type Frame } from '../helpers/socket.ts'
import { graph, newId, node, startBench } from './kit.ts'

const SECRET = 'sup3rSecretValue99'

const echo = graph(
  [
    node('in', 'input.String', { name: 'piece', stream: true }),
    node('say', 'text.Template', { name: `by ${SECRET}`, template: '{{piece}}' }),
    node('out', 'output.Output', { name: 'out' }),
  ],
  ['in.output->say.piece', 'say.output->out.value'],
)

test('a secret that is split across chunks is redacted in the joined text, and a secret in the name of a node everywhere', async () => {
  await using bench = await startBench({ environment: { SVC_SECRET_X: SECRET } })
  await using client = await connect(bench.server)
  const job_id = newId()
  const pieces = ['a ', 'sup3rSecr', 'etValue99', ' z', SECRET]
  client.command('run_job', { job_id, graph: echo, params: { piece: pieces }, job_name: SECRET })
  const live = await client.collect(job_id)
  const names = (frames: Frame[]) => frames.filter(({ node_id }) => node_id === 'say').map(({ node_name }) => node_name)
  assert.deepEqual(new Set(names(live.filter(({ type }) => type === 'node_update'))), new Set(['by [redacted]']))
  assert.deepEqual(
    live.filter(({ type }) => type === 'output_update').map(({ value }) => value),
    ['a ', '[redacted]', '', ' z', '[redacted]'],
  )
  await using again = await connect(bench.server)
  again.command('reconnect_job', { job_id })
  const whole = await again.next({ type: 'output_update' })
  assert.deepEqual([whole.disposition, whole.value], ['replace', 'a [redacted] z[redacted]'])
  assert.ok(![...live, ...again.frames].some((frame) => JSON.stringify(frame).includes(SECRET)))
})

test('the frames of stored events name nodes as the live frames do', async () => {
  await using bench = await startBench({ environment: { SVC_SECRET_X: SECRET } })
  await using client = await connect(bench.server)
  const job_id = newId()
  client.command('run_job', { job_id, graph: echo, params: { piece: ['a'] } })
  const live = await client.collect(job_id)
  const { jobs, events } = bench.server.context.runs
  const { row } = await jobs.get(LOCAL_PRINCIPAL, job_id)
  const told: unknown[] = []
  for await (const { event } of events.follow(row.key, 0, AbortSignal.timeout(60_000))) {
    const frame = event && new StoredJobFrames(row, bench.server.context.runs).ofEvent(event, 1)
    if (frame?.type === 'node_update') told.push([frame.node_id, frame.status, frame.node_name])
  }
  const updates = live.filter(({ type }) => type === 'node_update')
  assert.deepEqual(
    told,
    updates.map(({ node_id, status, node_name }) => [node_id, status, node_name]),
  )
})

test('a refused run does not repeat a secret that its parameters are named like', async () => {
  await using bench = await startBench()
  await bench.server.context.users.secrets.put(LOCAL_PRINCIPAL, 'KEY', 'planted-Secret-4711-xyz')
  await using client = await connect(bench.server)
  client.command('run_job', { graph: echo, params: { 'planted-Secret-4711-xyz': 1 } })
  const refusal = await client.next({ type: 'job_update', status: 'failed' })
  assert.doesNotMatch(JSON.stringify(refusal), /planted/)
  assert.match(JSON.stringify(refusal), /\[redacted\]/)
})
