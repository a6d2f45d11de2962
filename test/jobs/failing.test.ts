// Jobs that are interrupted after a node has failed: they end with the failure in their history, and a retry does not see it.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { graph, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { ended, history, OWNER, startGated, submit, words } from './kit.ts'

const together = graph(
  // The gate comes first, since a failure ends the run, even where the time of a turn is over before the second node.
  [source('in', 'x'), node('gate', 'test.Gate'), node('frail', 'test.Frail'), sink('out')],
  ['in.output->gate.value', 'in.output->frail.value', 'frail.output->out.value'],
)

/** A node that fails the first time. */
function frail(retry_safe: boolean) {
  const seen = { begun: 0 }
  const type: NodeType = testType('test.Frail', {
    properties: [value],
    outputs: [output],
    retry_safe,
    async run({ value: given }) {
      if (seen.begun++ === 0) throw new NodeError('no', 'odd')
      return { output: given }
    },
  })
  return { seen, type }
}

for (const retry_safe of [true, false]) {
  test(`a recovered job ends with the failure in its history, of a node that is ${retry_safe ? '' : 'not '}safe to run again`, async () => {
    const { seen, type } = frail(retry_safe)
    const data_dir = temporaryFolder()
    try {
      let id: string
      {
        await using server = await startGated({ data_dir, types: [type] })
        const job = submit(server, { graph: together })
        id = job.row.id
        await until('both to begin', () => server.gate.started === 1 && seen.begun === 1)
        await job.flushed()
      }
      await using server = await startGated({ data_dir, types: [type] })
      const row = await ended(server, id)
      const { type: kind, message, node_id } = JSON.parse(row.error!) as Record<string, unknown>
      assert.deepEqual([row.status, kind, message, node_id], ['failed', 'odd', 'no', 'frail'])
      const told = (await history(server, row)).map(words)
      assert.equal(told.filter((word) => word === 'node frail failed').length, 1)
      assert.deepEqual(told.slice(-3), ['status recovering', 'status running', 'end failed'])
      assert.deepEqual([seen.begun, server.gate.started], [1, 0])
      const { row: retried } = await server.context.runs.jobs.retry(OWNER, id)
      const entry = await until('the gate', () => server.gate.waiting[0])
      entry.open()
      const done = await ended(server, retried.id)
      assert.deepEqual([done.status, seen.begun], ['completed', 2])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
}

test('a retry begins with the attempt that was under way, and repeats no finished step of it', async () => {
  const { seen, type } = frail(true)
  const paid: unknown[] = []
  const pay = testType('test.Pay', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    async run({ value: given }) {
      paid.push(given)
      return { output: given }
    },
  })
  await using server = await startGated({ types: [type, pay] })
  const { jobs, workflows } = server.context.runs
  const called = graph(
    [source('in', 'x'), node('frail', 'test.Frail'), node('pay', 'test.Pay'), node('gate', 'test.Gate'), sink('out')],
    ['in.output->frail.value', 'frail.output->pay.value', 'pay.output->gate.value', 'gate.output->out.value'],
  )
  const { record } = await workflows.create(OWNER, { name: 'called', graph: called as never })
  const data = { workflow_id: record.id, retry: { attempts: 2, backoff_ms: 0 } }
  const main = graph(
    [node('call', 'workflow.Call', data, { dynamic_outputs: { out: { type: 'any' } } as never }), sink('out')],
    ['call.out->out.value'],
  )
  const job = submit(server, { graph: main })
  await until('the second attempt', () => server.gate.waiting[0])
  await jobs.cancel(OWNER, job.row.id)
  assert.equal((await ended(server, job.row.id)).status, 'cancelled')
  const { row } = await jobs.retry(OWNER, job.row.id)
  const entry = await until('the gate', () => server.gate.waiting[0])
  entry.open()
  const done = await ended(server, row.id)
  assert.deepEqual([done.status, seen.begun, paid], ['completed', 2, ['x']])
})
