// Large outputs of a job for a socket that reconnects.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { saveGraph } from '../../../src/db/graphs.ts'
import { insertJobEvent } from '../../../src/db/jobs/events.ts'
import { insertJob } from '../../../src/db/jobs/rows.ts'
import { ownerScopeKey } from '../../../src/db/owner-scope.ts'
import type { UnitOfWork } from '../../../src/db/store.ts'
import type { JobEventTable } from '../../../src/db/tables/jobs.ts'
import { listChangedOutputs } from '../../../src/sockets/jobs/changed-outputs.ts'
import { graph, node, sink, source } from '../../engine/kit.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { jobRow } from '../../helpers/store.ts'

/** Characters of each string of a stream, and their number. */
const LENGTH = 700_000
const TEXTS = 6
/** Characters that may be read or redacted at once. */
const MOST = 2 * LENGTH + 1_000

const streamed = graph(
  [source('xs', []), node('each', 'control.ForEach'), sink('texts')],
  ['xs.output->each.list', 'each.item->texts.value'],
)

/** The same services, which record the characters of events that are read at once, and of texts that are redacted at once. */
function noting({ context }: TestServer) {
  const most = { read: 0, redacted: 0 }
  const read = <T>(unit: UnitOfWork<T>): T => {
    const found = context.store.read(unit)
    const rows = (Array.isArray(found) ? found : []) as Partial<JobEventTable>[]
    const length = rows.reduce((sum, { payload = '' }) => sum + payload.length, 0)
    most.read = Math.max(most.read, length)
    return found
  }
  const forOwner = (owner: string) => {
    const redactor = context.runs.redactor.forOwner(owner)
    return {
      text: (text: string) => {
        most.redacted = Math.max(most.redacted, text.length)
        return redactor.text(text)
      },
      textSteps: (text: string) => redactor.textSteps(text),
    }
  }
  return { runs: { ...context.runs, store: { read }, redactor: { forOwner } }, most }
}

test('a long streamed text is read and redacted in parts', async () => {
  await using server = await startServer()
  const { store } = server.context
  const { redactor } = server.context.users
  const secret = 'a secret of many words'
  redactor.add(secret, ownerScopeKey({ user_id: 'u', workspace_id: null }))
  const row = jobRow(1, { user_id: 'u', graph_sha256: 'streamed', last_sequence: TEXTS, status: 'running' })
  await store.write((tx) => {
    saveGraph(tx, 'streamed', JSON.stringify(streamed))
    insertJob(tx, row)
    for (let sequence = 1; sequence <= TEXTS; sequence++) {
      // The secret is split across two events.
      const value = secret.slice(11) + 'x'.repeat(LENGTH) + secret.slice(0, 11)
      const payload = JSON.stringify({ output_name: 'texts', value })
      insertJobEvent(tx, { job_key: 1, sequence, type: 'output_update', payload, created_at: row.created_at })
    }
  })
  const { runs, most } = noting(server)
  const [output, ...others] = await listChangedOutputs(runs, row, 0)
  assert.deepEqual([output!.output_name, others], ['texts', []])
  const value = output!.value as string
  assert.ok(value.length > TEXTS * LENGTH && !value.includes(secret))
  assert.ok(most.read <= MOST && most.redacted <= MOST, JSON.stringify(most))
})
