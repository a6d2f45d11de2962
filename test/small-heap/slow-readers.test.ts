// A server with a small heap survives many connections that request large answers and read none of them. It serves other users meanwhile.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { passing } from '../fairness/attacks/values.ts'
import { share, startFair } from '../fairness/kit.ts'
import type { User } from '../fairness/user.ts'
import { inMostRounds } from '../helpers/patience.ts'

const CONNECTIONS = 48
/** The bytes of a job's result. */
const CHARACTERS = Math.floor(13_000_000 * share(0.4))

/** A connection that never reads. It is closed when the test has seen its effect on others. */
type Unread = (user: User, job_id: string) => Promise<{ close(): void }>

const asked =
  (path: (job_id: string) => string, headers?: Record<string, string>): Unread =>
  async (user, job_id) => {
    const socket: Socket = await user.unread(path(job_id), headers)
    return { close: () => socket.destroy() }
  }

const commanded =
  (command: string): Unread =>
  async (user, job_id) => {
    const socket = await user.socket()
    socket.on('error', () => {})
    socket.pause()
    socket.send(encode({ command, request_id: 'r', data: { job_id } }))
    return { close: () => socket.terminate() }
  }

const WAYS: Readonly<Record<string, Unread>> = {
  'the state of a job': asked((job_id) => `/api/jobs/${job_id}`),
  'its state on sockets': commanded('get_job_snapshot'),
  'its end on sockets': commanded('reconnect_job'),
  'its events as a list': asked((job_id) => `/api/jobs/${job_id}/events`, { Accept: 'application/json' }),
  'its events as a stream': asked((job_id) => `/api/jobs/${job_id}/events`, { Accept: 'text/event-stream' }),
  'the list of jobs': asked(() => '/api/jobs'),
}

async function jobOf(user: User): Promise<string> {
  const id = await user.store(passing(false))
  const body = JSON.stringify({ params: { in: 'x'.repeat(CHARACTERS) } })
  const { text } = await user.expect(200, 'POST', `/api/workflows/${id}/run`, body)
  return (JSON.parse(text) as { job_id: string }).job_id
}

/** Opens many connections that read nothing, half of them one after the other and the rest at once. Reads a whole answer meanwhile. */
async function unreadWhileRead(user: User, job_id: string, unread: Unread): Promise<void> {
  const open: { close(): void }[] = []
  for (let at = 0; at < CONNECTIONS / 2; at++) open.push(await unread(user, job_id))
  open.push(...(await Promise.all(Array.from({ length: CONNECTIONS / 2 }, () => unread(user, job_id)))))
  // Answers on earlier connections may come later. This reader may then be the longest idle one, and is cut.
  await inMostRounds(async () => {
    const { text } = await user.expect(200, 'GET', `/api/jobs/${job_id}`)
    assert.ok(text.length > CHARACTERS && text.endsWith('}'), 'the answer is not whole')
  })
  for (const one of open) one.close()
}

test('connections that request large answers and never read do not end the process', async () => {
  const environment = { NODE_OPTIONS: '--max-old-space-size=256', SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }
  await using server = await startFair(environment)
  const job_id = await jobOf(server.attacker)
  let doing = ''
  const attack = {
    name: 'connections that read nothing',
    async strike(user: User) {
      for (const [what, unread] of Object.entries(WAYS)) {
        doing = what
        await unreadWhileRead(user, job_id, unread)
      }
    },
  }
  const { answers } = await server
    .under([attack], () => true)
    .catch((error) => {
      throw new Error(`it ended under those that ask for ${doing}`, { cause: error })
    })
  assert.ok(answers.health.count > 0 && answers.list.count > 0)
  await server.attacker.expect(200, 'GET', '/health')
})
