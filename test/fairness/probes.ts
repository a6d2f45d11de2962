// The requests of the user who does not attack: small requests, and runs whose nodes use threads and processes beside the main thread.
import type { GraphNode } from '../../src/engine/compile/graph.ts'
import { pdf } from '../nodes/document-files.ts'
import type { User } from './user.ts'

export interface Probe {
  readonly method: string
  readonly path: string
  readonly body?: string
  /** A text that each correct answer contains. */
  readonly expected?: string
  /** Milliseconds between an answer and the next request. */
  readonly pause_ms: number
}

/** Requests that need only the main thread. */
const REQUESTS = ['health', 'list', 'run'] as const
/** Runs of one node each: in a process, in the sandbox, and a pattern. */
export const WORK = ['pdf', 'code', 'regex'] as const

export const isWork = (name: string): boolean => (WORK as readonly string[]).includes(name)

export type ProbeName = (typeof REQUESTS)[number] | (typeof WORK)[number]
export type Probes = Readonly<Record<ProbeName, Probe>>

const PAUSE_MS = 5
/** Work needs more of the processor, and must leave most of it to the attacks. */
const PAUSE_AFTER_WORK_MS = 25

/** Stores the data that the probes use. */
export async function probesOf(user: User): Promise<Probes> {
  const request = (method: string, path: string) => ({ method, path, pause_ms: PAUSE_MS })
  const file = await user.upload('small.pdf', pdf({ content: 'BT /F 12 Tf 20 50 Td (Hello) Tj ET' }))
  const code = { code: 'return { output: a + 1 }', a: 1 }
  return {
    health: request('GET', '/health'),
    list: request('GET', '/api/workflows'),
    run: { ...request('POST', '/api/workflows/greeting/run'), body: '{"params":{"name":"Ada"}}' },
    pdf: await work(user, 'document.PdfText', { document: `asset://${file}` }, 'text', '"Hello'),
    code: await work(user, 'code.JavaScript', code, 'output', '2', {
      dynamic_properties: { a: { type: 'int' } },
      dynamic_outputs: { output: { type: 'int' } },
    }),
    regex: await work(user, 'regex.Match', { text: 'order 4711', pattern: '([a-z]+) ([0-9]+)' }, 'output', 'true'),
  }
}

/** A run of one node with a known part in its result. */
async function work(
  user: User,
  type: string,
  data: Record<string, unknown>,
  output: string,
  expected: string,
  more: Partial<GraphNode> = {},
): Promise<Probe> {
  const id = await user.store({
    nodes: [
      { id: 'work', type, data, ...more },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [{ source: 'work', sourceHandle: output, target: 'out', targetHandle: 'value' }],
  })
  const path = `/api/workflows/${id}/run`
  return { method: 'POST', path, body: '{}', expected: `"out":${expected}`, pause_ms: PAUSE_AFTER_WORK_MS }
}
