// Large values that are right: parameters of runs and values for streamed inputs, which are stored, run through a graph and sent back.
import { once } from 'node:events'
import { encode } from '@msgpack/msgpack'
import type { Graph } from '../../../src/engine/graph.ts'
import type { AttackOf } from '../kit.ts'
import type { User } from '../user.ts'

export const sized = (full: number, share: number) => Math.max(2, Math.floor(full * share))

export function passing(stream: boolean): Graph {
  return {
    nodes: [
      { id: 'in', type: 'input.Any', data: { name: 'in', ...(stream ? { stream } : {}) } },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [{ source: 'in', sourceHandle: 'output', target: 'out', targetHandle: 'value' }],
  }
}

export const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ at, name: `row ${at}`, tags: [at % 7] }))

const params: AttackOf = (share) => {
  const body = JSON.stringify({ params: { in: rows(sized(300_000, share)) } })
  let id = ''
  return {
    name: `running with parameters of ${(body.length / 1e6).toFixed(1)} MB`,
    async prepare(attacker) {
      id = await attacker.store(passing(false))
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
      if (!/"status":"completed"/.test(text.slice(0, 300))) throw new Error(text.slice(-500))
    },
  }
}

async function conversation(attacker: User, frames: (job_id: string) => readonly unknown[]): Promise<void> {
  const job_id = `job-${crypto.randomUUID()}`
  const socket = await attacker.socket()
  const ended = once(socket, 'close')
  socket.on('message', (data: Buffer) => {
    if (/job_update.{1,30}(?:completed|failed)/s.test(data.toString('latin1', 0, 200))) socket.terminate()
  })
  for (const frame of frames(job_id)) socket.send(frame instanceof Uint8Array ? frame : encode(frame))
  await ended
}

const pushed: AttackOf = (share) => {
  const value = rows(sized(600_000, share))
  const size = (encode(value).length / 1e6).toFixed(1)
  return {
    name: `pushing a value of ${size} MB into a streamed input`,
    strike: (attacker) =>
      conversation(attacker, (job_id) => [
        { command: 'run_job', data: { job_id, graph: passing(true), execution_options: { event_detail: 'terminal' } } },
        { command: 'stream_input', data: { job_id, input: 'in', value } },
        { command: 'end_input_stream', data: { job_id, input: 'in' } },
      ]),
  }
}

export const values: readonly AttackOf[] = [params, pushed]
