// Jobs that end while they wait for people: what was held back of their streamed texts, as it might have begun a secret, is told then.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { graph, node, sink } from '../engine/kit.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { inFolder } from '../helpers/folder.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { ended, history, OWNER, submit } from './kit.ts'

const SECRET = 'planted-key-4711-of-a-server'

/** Says the pieces, asks a person, and says one more piece behind the answer. */
const asking = (...say: string[]) => ({
  environment: { SVC_SECRET_X: SECRET },
  providers: [
    agentProvider((request) =>
      toolTexts(request).length > 0
        ? { say: ['Sent.'] }
        : { say, calls: [{ name: 'human_Approval', args: { message: 'ok?', value: 1 } }] },
    ),
  ],
})

const of = graph(
  [node('a', 'agent.Run', { model: 'agent/brain', prompt: 'x', tools: ['human.Approval'] }), sink('text')],
  ['a.text->text.value'],
)

async function waits({ context: { jobs } }: TestServer, id: string): Promise<void> {
  await until('the job to wait', async () => {
    const { row, active } = await jobs.get(OWNER, id)
    return row.status === 'paused' && active === null
  })
}

async function told(server: TestServer, id: string): Promise<unknown[]> {
  const { row } = await server.context.jobs.get(OWNER, id)
  return (await history(server, row)).flatMap((event) => (event.type === 'output_update' ? [event.value] : []))
}

describe('what a job that waits has held back of a text', () => {
  test(
    'is told when it is cancelled, after a restart as well',
    inFolder(async (data_dir) => {
      const settings = { data_dir, ...asking('Shall I send ', 'the report to p') }
      let id: string
      {
        await using server = await startServer(settings)
        id = submit(server, { graph: of }).row.id
        await waits(server, id)
      }
      await using server = await startServer(settings)
      await server.context.jobs.cancel(OWNER, id)
      assert.deepEqual(await told(server, id), ['Shall I send ', 'the report to p'])
    }),
  )

  test('is told when its time is over', async () => {
    await using server = await startServer(asking('Shall I send ', 'the report to p'))
    await withMoreTime(2_000, async (ms) => {
      const { row } = submit(server, { graph: of, timeout_seconds: ms / 1_000 })
      assert.equal((await ended(server, row.id)).status, 'timed_out')
      assert.deepEqual(await told(server, row.id), ['Shall I send ', 'the report to p'])
    })
  })

  test('is told without what may begin a secret', async () => {
    await using server = await startServer(asking('It is ', `${SECRET.slice(0, 14)}`))
    const { id } = submit(server, { graph: of }).row
    await waits(server, id)
    await server.context.jobs.cancel(OWNER, id)
    const all = (await told(server, id)).join('')
    assert.match(all, /^It is /)
    assert.doesNotMatch(all, /planted/)
  })

  test('is told once where it goes on', async () => {
    await using server = await startServer(asking('Shall I send ', 'the report to p'))
    const { id } = submit(server, { graph: of }).row
    await waits(server, id)
    await server.context.jobs.resume(OWNER, id, { node_id: 'a', name: null, value: true, at: '/body' })
    await ended(server, id)
    assert.equal((await told(server, id)).join(''), 'Shall I send the report to p\n\nSent.')
  })
})
