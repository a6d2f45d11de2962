// Helpers for preflights over both transports, and for their answers.
import assert from 'node:assert/strict'
import type { PreflightRequirement, PreflightSummary } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { node, graph as of } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import type { TestServer } from '../helpers/server.ts'
import { stored } from '../sockets/kit.ts'

export type Request = Readonly<Record<string, unknown>>

export const PREFLIGHT = '/api/sdk/v1/preflight'

/** Calls the operation preflightWorkflow, which must answer with 200. */
export async function preflight(server: { url: string }, request: Request): Promise<PreflightSummary> {
  const answer = await call<PreflightSummary>(server, 'POST', PREFLIGHT, { body: request })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

/** Does the same for a graph that is stored first. */
export async function preflightOf(server: TestServer, graph: Graph, request: Request = {}): Promise<PreflightSummary> {
  const workflow_id = await stored(server, graph)
  return preflight(server, { workflow_id, level: 'availability', ...request })
}

/** `severity code node pin`, sorted. */
export function issuesOf({ issues }: PreflightSummary): string[] {
  return issues.map((one) => [one.severity, one.code, one.node_id ?? '-', one.pin_name ?? '-'].join(' ')).sort()
}

/** `kind id status blocking`, in the order of the answer. */
export function requirementsOf({ requirements }: PreflightSummary): string[] {
  return requirements.map(({ kind, id, status, blocking }) => `${kind} ${id} ${status} ${blocking}`)
}

export function requirement(summary: PreflightSummary, kind: string, id: string): PreflightRequirement {
  const found = summary.requirements.find((one) => one.kind === kind && one.id === id)
  assert.ok(found, JSON.stringify(summary.requirements))
  return found
}

/** One call of a model, with its answer as an output. */
export function chat(data: Record<string, unknown>): Graph {
  return of(
    [node('ask', 'chat.Complete', data), node('out', 'output.Output', { name: 'out' })],
    ['ask.text->out.value'],
  )
}

/** Calls a workflow and uses none of its outputs. */
export function calling(workflow_id: string, inputs: Record<string, unknown> = {}): Graph {
  return of([node('call', 'workflow.Call', { workflow_id }, { dynamic_properties: inputs })], [])
}
