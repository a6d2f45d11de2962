// Workflows that call models, and the costs and models in the results of their jobs.
import assert from 'node:assert/strict'
import type { JobSnapshot, ResultManifest, RunResult, Workflow } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'

/** `chat -> out`, with the usage as `usage`. */
export function chatting(data: Record<string, unknown>): Graph {
  const nodes = [node('chat', 'chat.Complete', { prompt: 'hello there', ...data }), sink('out'), sink('usage')]
  return graph(nodes, ['chat.text->out.value', 'chat.usage->usage.value'])
}

type Server = { readonly url: string }

export async function stored(server: Server, of: Graph, name = 'chat'): Promise<string> {
  const { body, status, text } = await call<Workflow>(server, 'POST', '/api/workflows', { body: { name, graph: of } })
  assert.equal(status, 201, text)
  return body.id
}

/** Runs a graph to its end over HTTP. */
export async function run(server: Server, of: Graph, body: object = {}): Promise<RunResult> {
  const id = await stored(server, of)
  const answer = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })
  assert.ok(answer.status === 200 || answer.status === 202, answer.text)
  return answer.body
}

export async function snapshot(server: Server, job_id: string): Promise<JobSnapshot> {
  return (await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`)).body
}

/** The result of a job that must have completed. */
export async function resultOf(server: Server, job_id: string): Promise<ResultManifest> {
  const { status, result, error } = await snapshot(server, job_id)
  assert.equal(status, 'completed', JSON.stringify(error))
  return result!
}

/** In short: the cost, and the models of its provenance. */
export function spent({ cost, provenance }: ResultManifest): unknown[] {
  const { providers, models } = provenance
  return [cost && [cost.amount, cost.currency, cost.reconciled], providers, models]
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
