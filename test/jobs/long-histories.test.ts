// Jobs with small journals and long histories: the histories are read in time slices before the jobs continue.
import { test } from 'node:test'
import { graph, item, node, sink, source, testType } from '../engine/kit.ts'
import { longestTurn } from '../helpers/loop.ts'
import { belowInSome } from '../helpers/patience.ts'
import { atRealSize } from '../helpers/scale.ts'
import { until } from '../helpers/server.ts'
import { ended, OWNER, startGated, submit } from './kit.ts'

const TEXT = 'x'.repeat(900_000)
const COUNT = 35

/** A node without journal entries: its firing comes out the same again. */
const many = testType('test.Many', {
  outputs: [item],
  *run() {
    for (let at = 0; at < COUNT; at++) yield { item: `${at}${TEXT}` }
  },
})

const of = graph(
  [
    node('many', 'test.Many'),
    sink('out'),
    source('in', 'x'),
    node('ask', 'human.Approval', { message: 'Send it?' }),
    sink('yes'),
  ],
  ['many.item->out.value', 'in.output->ask.value', 'ask.approved->yes.value'],
)

test('a job with a history of 31 MB continues without a long turn of the event loop', {
  skip: atRealSize,
}, async () => {
  await using server = await startGated({ types: [many] })
  const { jobs } = server.context.runs
  await belowInSome(80, async () => {
    const { row } = submit(server, { graph: of })
    await until('it to wait', async () => {
      const handle = await jobs.get(OWNER, row.id)
      return handle.row.status === 'paused' && handle.active === null
    })
    const longest = await longestTurn(async () => {
      await jobs.resume(OWNER, row.id, { node_id: null, name: null, value: true, at: '/body' })
    })
    await ended(server, row.id)
    return longest
  })
})
