// Reads large values of an ended job: its state, its events, and the lists that contain it.
import { once } from 'node:events'
import { encode } from '@msgpack/msgpack'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { passing, rows, sized } from './values.ts'

type Mode = 'binary' | 'text'

/** A job with large parameters, which are its output. */
async function ended(attacker: User, share: number): Promise<string> {
  const id = await attacker.store(passing(false))
  const body = JSON.stringify({ params: { in: rows(sized(300_000, share)) } })
  const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
  return /"job_id":"([^"]+)"/.exec(text.slice(0, 300))![1]!
}

function reading(
  what: string,
  read: (attacker: User, job_id: string) => Promise<unknown>,
  jobs = 1,
): (share: number) => Attack {
  return (share) => {
    let job_id = ''
    return {
      name: `reading ${what} of a job with a value of ${((45 * sized(300_000, share)) / 1e6).toFixed(1)} MB`,
      async prepare(attacker) {
        for (let at = 0; at < jobs; at++) job_id = await ended(attacker, share)
      },
      strike: (attacker) => read(attacker, job_id),
    }
  }
}

const get = (path: (job_id: string) => string, accept = 'application/json') => {
  return (attacker: User, job_id: string) => attacker.expect(200, 'GET', path(job_id), undefined, { Accept: accept })
}

/** Sends a command on a new socket, and waits for the last frame of the answer. */
async function commanding(attacker: User, mode: Mode, command: object, last: RegExp): Promise<void> {
  const socket = await attacker.socket()
  if (mode === 'text') socket.send(encode({ command: 'set_mode', data: { mode } }))
  socket.on('message', (data: Buffer) => {
    const head = data.toString('latin1', 0, 400)
    if (/"?error"?.{1,4}[A-Z]/.test(head)) socket.emit('error', new Error(head))
    if (last.test(head)) socket.terminate()
  })
  socket.send(mode === 'text' ? JSON.stringify(command) : encode(command))
  await once(socket, 'close')
}

const request_id = 'request'
const COMMANDS = [
  { command: 'reconnect_job', last: /output_update/ },
  { command: 'get_job_snapshot', last: /rpc_response/ },
  { command: 'subscribe_job', last: /job_terminal/ },
]

const commands = (['binary', 'text'] as const).flatMap((mode) =>
  COMMANDS.map(({ command, last }) =>
    reading(`by ${command} (${mode})`, (attacker, job_id) =>
      commanding(attacker, mode, { command, request_id, data: { job_id } }, last),
    ),
  ),
)

/** The number of concurrent requests for results that are not ASCII. Such results take far longer to read and to write. */
const READERS = 16

const foreign = (what: string, path: (job_id: string) => string): AttackOf => {
  return (share) => {
    const body = JSON.stringify({ params: { in: 'é\u0301'.repeat(sized(2_400_000, share)) } })
    let job_id = ''
    return {
      name: `${READERS} times ${what} with texts of ${((2 * sized(2_400_000, share)) / 1e6).toFixed(1)} million letters`,
      side_by_side: READERS,
      async prepare(attacker) {
        const id = await attacker.store(passing(false))
        for (let jobs = 0; jobs < 3; jobs++) {
          const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
          job_id = /"job_id":"([^"]+)"/.exec(text.slice(0, 300))![1]!
        }
      },
      strike: (attacker) => attacker.expect(200, 'GET', path(job_id), undefined, { Accept: 'application/json' }),
    }
  }
}

/** The number of concurrent requests for a result in parts, within the server's limit for such answers. */
const ASKING = 12

/** Two outputs with the same value. */
function twice(): Graph {
  const { nodes, edges } = passing(false)
  const [edge] = edges
  const other = { id: 'other', type: 'output.Output', data: { name: 'other' } }
  return { nodes: [...nodes, other], edges: [...edges, { ...edge!, target: 'other' }] }
}

const inParts: AttackOf = (share) => {
  const count = sized(3_600_000, share)
  const body = JSON.stringify({ params: { in: Array(count).fill('a') } })
  let job_id = ''
  return {
    name: `${ASKING} times the state of a job with two lists of ${count} short texts`,
    side_by_side: ASKING,
    async prepare(attacker) {
      const id = await attacker.store(twice())
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
      job_id = /"job_id":"([^"]+)"/.exec(text.slice(0, 300))![1]!
    },
    strike: (attacker) => attacker.send('GET', `/api/jobs/${job_id}`).catch(() => {}),
  }
}

/** The most expensive metadata of an asset: many names. */
const METADATA = JSON.stringify(Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`k${at}`, 1])))

const listing: AttackOf = (share) => {
  const count = sized(100, share)
  return {
    name: `listing ${count} assets with long metadata`,
    async prepare(attacker) {
      const fields = { name: 'Folder', content_type: 'folder', metadata: METADATA }
      for (let at = 0; at < count; at++) await attacker.create(fields)
    },
    strike: (attacker) => attacker.expect(200, 'GET', '/api/assets?page_size=500'),
  }
}

/** Texts with many escapes take longer to parse. */
const ESCAPED = 'é"\n'

const MESSAGES = 6

const thread: AttackOf = (share) => {
  const content = ESCAPED.repeat(sized(2_200_000, share))
  let id = ''
  return {
    name: `reading ${MESSAGES} messages of a thread, each of ${(content.length / 1e6).toFixed(1)} MB`,
    async prepare(attacker) {
      id = (JSON.parse((await attacker.expect(201, 'POST', '/api/threads', '{}')).text) as { id: string }).id
      const body = JSON.stringify({ content })
      for (let at = 0; at < MESSAGES; at++) await attacker.expect(201, 'POST', `/api/threads/${id}/messages`, body)
    },
    async strike(attacker) {
      await attacker.expect(200, 'GET', `/api/threads/${id}/messages`)
      await following(attacker, id)
    },
  }
}

/** Follows a thread from its beginning, until the last of its messages has come. */
async function following(attacker: User, thread_id: string): Promise<void> {
  const socket = await attacker.socket()
  let messages = 0
  socket.on('message', (data: Buffer) => {
    if (/type.{1,3}message.?/s.test(data.toString('latin1', 0, 60)) && ++messages === MESSAGES) socket.terminate()
  })
  socket.send(encode({ command: 'resume_chat', data: { thread_id, after_sequence: 0 } }))
  await once(socket, 'close')
}

const MESSAGE = 'x'.repeat(1_000_000)

/** Requests the states of jobs that show long messages for the people they wait for. */
const statuses: AttackOf = (share) => {
  const count = sized(400, share)
  const nodes = [
    { id: 'ask', type: 'human.Approval', data: { message: MESSAGE } },
    { id: 'out', type: 'output.Output', data: { name: 'out' } },
  ]
  const edges = [{ source: 'ask', sourceHandle: 'approved', target: 'out', targetHandle: 'value' }]
  return {
    name: `the states of ${count} suspended jobs with long messages`,
    async prepare(attacker) {
      const id = await attacker.store({ nodes, edges })
      for (let at = 0; at < count; at++) await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
    },
    strike: (attacker) => attacker.frame(JSON.stringify({ command: 'get_status', request_id: 'r' })),
  }
}

export const readings: readonly AttackOf[] = [
  statuses,
  listing,
  thread,
  reading(
    'the state',
    get((job_id) => `/api/jobs/${job_id}`),
  ),
  reading(
    'the events',
    get((job_id) => `/api/jobs/${job_id}/events`),
  ),
  reading(
    'the event stream',
    get((job_id) => `/api/jobs/${job_id}/events`, 'text/event-stream'),
  ),
  reading(
    'lists',
    get(() => '/api/jobs'),
    4,
  ),
  inParts,
  foreign('a list', () => '/api/jobs?limit=3'),
  foreign('the events', (job_id) => `/api/jobs/${job_id}/events`),
  ...commands,
]
