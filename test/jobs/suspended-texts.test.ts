// Jobs that end while they wait for a person: streamed text that was held back as the possible beginning of a secret is published then.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { graph, node, sink } from '../engine/kit.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { inFolder } from '../helpers/folder.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { ended, history, OWNER, submit } from './kit.ts'

const SECRET = 'planted-key-4711-of-a-server'

/** A node that outputs the pieces, asks a person, and outputs one more piece after the answer. */
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

async function waits(
  {
    context: {
      runs: { jobs },
    },
  }: TestServer,
  id: string,
): Promise<void> {
  await until('the job to wait', async () => {
    const { row, active } = await jobs.get(OWNER, id)
    return row.status === 'paused' && active === null
  })
}

async function told(server: TestServer, id: string): Promise<unknown[]> {
  const { row } = await server.context.runs.jobs.get(OWNER, id)
  return (await history(server, row)).flatMap((event) => (event.type === 'output_update' ? [event.value] : []))
}

describe('a text that a suspended job has held back', () => {
  test(
    'is published when the job is cancelled, after a restart as well',
    inFolder(async (data_dir) => {
      const settings = { data_dir, ...asking('Shall I send ', 'the report to p') }
      let id: string
      {
        await using server = await startServer(settings)
        id = submit(server, { graph: of }).row.id
        await waits(server, id)
      }
      await using server = await startServer(settings)
      await server.context.runs.jobs.cancel(OWNER, id)
      assert.deepEqual(await told(server, id), ['Shall I send ', 'the report to p'])
    }),
  )

  test('is published when the time limit of the job is over', async () => {
    await using server = await startServer(asking('Shall I send ', 'the report to p'))
    await withMoreTime(2_000, async (ms) => {
      const { row } = submit(server, { graph: of, timeout_seconds: ms / 1_000 })
      assert.equal((await ended(server, row.id)).status, 'timed_out')
      assert.deepEqual(await told(server, row.id), ['Shall I send ', 'the report to p'])
    })
  })

  test('is published without the possible beginning of a secret', async () => {
    await using server = await startServer(asking('It is ', `${SECRET.slice(0, 14)}`))
    const { id } = submit(server, { graph: of }).row
    await waits(server, id)
    await server.context.runs.jobs.cancel(OWNER, id)
    const all = (await told(server, id)).join('')
    assert.match(all, /^It is /)
    assert.doesNotMatch(all, /planted/)
  })

  test('is published once where the job is resumed', async () => {
    await using server = await startServer(asking('Shall I send ', 'the report to p'))
    const { id } = submit(server, { graph: of }).row
    await waits(server, id)
    await server.context.runs.jobs.resume(OWNER, id, { node_id: 'a', name: null, value: true, at: '/body' })
    await ended(server, id)
    assert.equal((await told(server, id)).join(''), 'Shall I send the report to p\n\nSent.')
  })
})
