// Jobs with large stored values that continue after an answer, and once more after a cancellation.
import { setTimeout as pause } from 'node:timers/promises'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { rows, sized } from './values.ts'

/** A parameter and two awaited values, all of which are counted. */
const waiting: Graph = {
  nodes: [
    { id: 'in', type: 'input.Any', data: { name: 'in' } },
    ...['a', 'b'].map((id) => ({ id, type: 'control.WaitFor', data: { name: id, schema: { type: 'array' } } })),
    ...['in', 'a', 'b'].map((name) => ({ id: `count ${name}`, type: 'list.Length', data: {} })),
    ...['in', 'a', 'b'].map((name) => ({ id: `out ${name}`, type: 'output.Output', data: { name } })),
  ],
  edges: ['in', 'a', 'b'].flatMap((name) => {
    const [given, count] = [name === 'in' ? 'output' : 'value', `count ${name}`]
    return [
      { source: name, sourceHandle: given, target: count, targetHandle: 'list' },
      { source: count, sourceHandle: 'output', target: `out ${name}`, targetHandle: 'value' },
    ]
  }),
}

async function begun(attacker: User, workflow_id: string, body: string): Promise<string> {
  const { text } = await attacker.send('POST', `/api/workflows/${workflow_id}/run`, body)
  const job_id = /"(?:job_)?id":"(job[^"]+)"/.exec(text)?.[1]
  if (!job_id) throw new Error(`no job began: ${text.slice(0, 300)}`)
  await reaching(attacker, job_id, 'suspended')
  return job_id
}

/** Waits until a job has a status. */
async function reaching(attacker: User, job_id: string, status: string): Promise<void> {
  for (;;) {
    const { text } = await attacker.expect(200, 'GET', `/api/jobs/${job_id}`)
    if (text.includes(`"status":"${status}"`)) return
    if (/"status":"(?:completed|failed|cancelled)"/.test(text.slice(0, 400))) throw new Error(text.slice(0, 400))
    await pause(50)
  }
}

/** Retries a job. Returns the id of the new job when it waits. */
async function triedAgain(attacker: User, old: string): Promise<string> {
  const { text } = await attacker.send('POST', `/api/jobs/${old}/retry`)
  const job_id = /"job_id":"(job[^"]+)"/.exec(text)?.[1]
  if (!job_id) throw new Error(text.slice(0, 300))
  await reaching(attacker, job_id, 'suspended')
  return job_id
}

const MEGABYTE = 1_000_000

const resumed: AttackOf = (share) => {
  const value = rows(sized(250_000, share))
  const body = JSON.stringify({ params: { in: value } })
  const answer = JSON.stringify({ value, name: 'a' })
  let id = ''
  return {
    name: `resuming a job that remembers two values of ${(body.length / MEGABYTE).toFixed(1)} MB`,
    async prepare(attacker) {
      id = await attacker.store(waiting)
    },
    async strike(attacker) {
      const job_id = await begun(attacker, id, body)
      await attacker.expect(200, 'POST', `/api/jobs/${job_id}/resume`, answer)
      await reaching(attacker, job_id, 'suspended')
      await attacker.expect(200, 'POST', `/api/jobs/${job_id}/resume`, '{"value":[],"name":"b"}')
      await reaching(attacker, job_id, 'completed')
    },
  }
}

const retried: AttackOf = (share) => {
  const value = rows(sized(250_000, share))
  const body = JSON.stringify({ params: { in: value } })
  let id = ''
  let old = ''
  return {
    name: `trying a job again that remembers ${(body.length / MEGABYTE).toFixed(1)} MB`,
    async prepare(attacker) {
      id = await attacker.store(waiting)
      old = await begun(attacker, id, body)
      await attacker.expect(200, 'POST', `/api/jobs/${old}/cancel`)
    },
    async strike(attacker) {
      const job_id = await triedAgain(attacker, old)
      await attacker.expect(200, 'POST', `/api/jobs/${job_id}/cancel`)
    },
  }
}

/** A node that fires after it got a value. The job waits for the value as soon as the value's name has come. */
function changedWhileWaiting(names: readonly string[]): Graph {
  return {
    nodes: [
      { id: 'in', type: 'input.String', data: { name: 'in', stream: true } },
      { id: 'wait', type: 'control.WaitFor', data: {} },
      {
        id: 'prompt',
        type: 'prompt.Template',
        data: Object.fromEntries(names.map((name) => [name, 1])),
        dynamic_properties: Object.fromEntries(names.map((name) => [name, { type: 'int' }])),
      },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [
      { source: 'in', sourceHandle: 'output', target: 'wait', targetHandle: 'name' },
      { source: 'wait', sourceHandle: 'value', target: 'prompt', targetHandle: 'template' },
      { source: 'prompt', sourceHandle: 'prompt', target: 'out', targetHandle: 'value' },
    ],
  }
}

const CHANGES = 150

/** Runs a job whose node is changed again and again before it fires. Returns the job's id when it waits. */
async function changedJob(attacker: User, workflow_id: string, names: readonly string[]): Promise<string> {
  const socket = await attacker.socket()
  const job_id = `job-${crypto.randomUUID()}`
  const send = (command: string, data: object) => {
    const request_id = crypto.randomUUID()
    const { promise, resolve } = Promise.withResolvers<void>()
    // Frames of the job come in between.
    socket.on('message', function hear(frame: Buffer) {
      if (!frame.includes(request_id)) return
      socket.off('message', hear)
      resolve()
    })
    socket.send(JSON.stringify({ command, request_id, data: { job_id, ...data } }))
    return promise
  }
  await send('run_job', { workflow_id })
  for (let at = 0; at < CHANGES; at++) {
    const properties = Object.fromEntries(names.map((name) => [name, at]))
    await send('update_node_properties', { node_id: 'prompt', properties })
  }
  // The command comes at once: a job that waits for an answer accepts no end of its input.
  await Promise.all([send('stream_input', { input: 'in', value: 'wait' }), send('end_input_stream', { input: 'in' })])
  await reaching(attacker, job_id, 'suspended')
  socket.terminate()
  return job_id
}

/** All changes apply to the same firing. */
export const changed: AttackOf = (share) => {
  const names = Array.from({ length: sized(20_000, share) }, (_, at) => at.toString(36))
  let old = ''
  return {
    name: `going on with a job whose ${names.length} values were changed ${CHANGES} times`,
    async prepare(attacker) {
      old = await changedJob(attacker, await attacker.store(changedWhileWaiting(names)), names)
      await attacker.expect(200, 'POST', `/api/jobs/${old}/cancel`)
    },
    async strike(attacker) {
      const job_id = await triedAgain(attacker, old)
      await attacker.expect(200, 'POST', `/api/jobs/${job_id}/resume`, '{"value":"Say {{ 0 }}"}')
      await reaching(attacker, job_id, 'completed')
    },
  }
}

export const largeValues: readonly AttackOf[] = [resumed, retried]

export const remembered: readonly AttackOf[] = [...largeValues, changed]
