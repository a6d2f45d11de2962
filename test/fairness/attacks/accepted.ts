// Valid bodies and commands of the largest size or number: data that is stored, uploaded, run, removed and followed.
import { encode } from '@msgpack/msgpack'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { passing, rows, sized } from './values.ts'

const idOf = (text: string) => (JSON.parse(text) as { id: string }).id
const jobOf = (text: string) => /"job_id":"([^"]+)"/.exec(text)![1]!

/** Calls `act` so many times at once. */
const allAtOnce = (count: number, act: (at: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, at) => act(at)))

/** A stream of numbers, each of which is an output event. */
function counting(to: number): Graph {
  return {
    nodes: [
      { id: 'numbers', type: 'control.Numbers', data: { to } },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [{ source: 'numbers', sourceHandle: 'item', target: 'out', targetHandle: 'value' }],
  }
}

const run = (attacker: User, workflow: string, body = '{}') =>
  attacker.expect(200, 'POST', `/api/workflows/${workflow}/run`, body)

const updates: AttackOf = (share) => {
  const length = sized(15_000_000, share)
  const graph = passing(false)
  Object.assign(graph.nodes[0]!.data!, { value: 'x'.repeat(length) })
  const body = JSON.stringify({ name: 'Workflow', graph })
  let id = ''
  return {
    name: `updating a workflow with a text of ${length} letters`,
    side_by_side: 2,
    async prepare(attacker) {
      id = idOf((await attacker.expect(201, 'POST', '/api/workflows', body)).text)
    },
    strike: (attacker) => attacker.expect(200, 'PUT', `/api/workflows/${id}`, body),
  }
}

const messages: AttackOf = (share) => {
  const body = JSON.stringify({ content: 'wörd '.repeat(sized(18_000, share)) })
  return {
    name: `messages of ${body.length} letters, a thread for each`,
    side_by_side: 8,
    async strike(attacker) {
      const id = idOf((await attacker.expect(201, 'POST', '/api/threads', '{}')).text)
      await attacker.expect(201, 'POST', `/api/threads/${id}/messages`, body)
      await attacker.expect(204, 'DELETE', `/api/threads/${id}`)
    },
  }
}

const secrets: AttackOf = (share) => {
  // It begins with another letter than the parameters below. A secret with the same letter would be searched for in them.
  const body = JSON.stringify({ value: 's'.repeat(sized(60_000, share)) })
  return {
    name: `a secret of ${body.length} letters, set again and again`,
    side_by_side: 8,
    strike: (attacker) => attacker.expect(200, 'PUT', '/api/secrets/LARGE', body),
  }
}

const uploads: AttackOf = (share) => {
  const count = sized(200, share)
  return {
    name: `${count} small uploads at once`,
    strike: (attacker) => allAtOnce(count, (at) => attacker.upload(`file-${at}`, Buffer.from(`content ${at}`))),
  }
}

/** The number of concurrent uploads of a folder. */
const UPLOADS = 16

async function folderOf(attacker: User, count: number): Promise<string> {
  const folder = await attacker.create({ name: 'Folder', content_type: 'folder' })
  let uploaded = 0
  await allAtOnce(UPLOADS, async () => {
    while (uploaded < count) {
      const at = uploaded++
      await attacker.upload(`file-${at}`, Buffer.from(`content ${at}`), { parent_id: folder })
    }
  })
  return folder
}

export const folders: AttackOf = (share) => {
  // Filling it takes far longer than deleting it.
  const count = sized(30_000, share * share)
  let folder = ''
  return {
    name: `deleting a folder of ${count} assets`,
    async prepare(attacker) {
      folder = await folderOf(attacker, count)
    },
    async strike(attacker) {
      await attacker.expect(204, 'DELETE', `/api/assets/${folder}`)
      folder = await folderOf(attacker, count)
    },
  }
}

const submissions: AttackOf = (share) => {
  const count = sized(1_000, share)
  const body = JSON.stringify({ params: { in: 'x'.repeat(200_000) } })
  let id = ''
  return {
    name: `${count} runs at once, with parameters of ${body.length} bytes each`,
    async prepare(attacker) {
      id = await attacker.store(passing(false))
    },
    strike: (attacker) => allAtOnce(count, () => run(attacker, id, body)),
  }
}

const removals: AttackOf = (share) => {
  const to = sized(20_000, share)
  let id = ''
  return {
    name: `runs with ${to} events each, which are deleted`,
    side_by_side: 4,
    async prepare(attacker) {
      id = await attacker.store(counting(to))
    },
    async strike(attacker) {
      const job = jobOf((await run(attacker, id)).text)
      await attacker.expect(204, 'DELETE', `/api/jobs/${job}`)
    },
  }
}

const followers: AttackOf = (share) => {
  const to = sized(5_000, share)
  let job = ''
  return {
    name: `50 event streams of ${to} events from the beginning`,
    side_by_side: 50,
    async prepare(attacker) {
      job = jobOf((await run(attacker, await attacker.store(counting(to)))).text)
    },
    strike: (attacker) =>
      attacker.expect(200, 'GET', `/api/jobs/${job}/events`, undefined, { Accept: 'text/event-stream' }),
  }
}

const subscriptions: AttackOf = (share) => {
  const count = sized(1_000, share)
  const jobs: string[] = []
  return {
    name: `subscriptions to ${count} jobs`,
    async prepare(attacker) {
      const id = await attacker.store(passing(false))
      while (jobs.length < count) jobs.push(jobOf((await run(attacker, id, '{"params":{"in":1}}')).text))
    },
    async strike(attacker) {
      const socket = await attacker.socket()
      const { promise, resolve } = Promise.withResolvers<void>()
      let ended = 0
      socket.on('message', (data: Buffer) => {
        if (data.includes('job_terminal') && ++ended === count) resolve()
      })
      socket.once('close', resolve)
      for (const job_id of jobs) socket.send(encode({ command: 'subscribe_job', request_id: job_id, data: { job_id } }))
      await promise
      socket.terminate()
    },
  }
}

/** Under a new key, and again under the same key. */
const keyedInputs: AttackOf = (share) => {
  const count = sized(320_000, share)
  const inputs = { in: rows(count) }
  let about = {}
  let keys = 0
  return {
    name: `submissions under keys, with ${count} rows`,
    async prepare(attacker) {
      const body = JSON.stringify({ name: 'Workflow', graph: passing(false) })
      const { id, etag } = JSON.parse((await attacker.expect(201, 'POST', '/api/workflows', body)).text)
      about = { workflow_id: id, workflow_etag: etag, interface_version: 1 }
    },
    async strike(attacker) {
      const key = `key-${keys++}`
      const body = JSON.stringify({ client_request_id: key, idempotency_key: key, ...about, inputs })
      await attacker.expect(202, 'POST', '/api/sdk/v1/jobs', body)
      await attacker.expect(202, 'POST', '/api/sdk/v1/jobs', body)
    },
  }
}

export const accepted: readonly AttackOf[] = [
  updates,
  messages,
  secrets,
  uploads,
  folders,
  submissions,
  keyedInputs,
  removals,
  followers,
  subscriptions,
]
