// Graphs and shorthands that the HTTP tests share.
import type { CreateWorkflowRequest, GraphEdge, GraphNode, StoredWorkflow, Workflow } from '../../generated/types.ts'
import type { NodeRegistry } from '../../src/engine/node-api/node-type.ts'
import { builtinRegistry, createRegistry } from '../../src/nodes/registry.ts'
import { optionalProperty, valueOutput } from '../../src/nodes/shared/node-type-builders.ts'
import { call } from '../helpers/http.ts'

export function node(id: string, type: string, data: Record<string, unknown> = {}, more: object = {}): GraphNode {
  return { id, type, data, ...more } as GraphNode
}

/** `edge('a.output', 'b.value')`. */
export function edge(from: string, to: string): GraphEdge {
  const [source, sourceHandle] = from.split('.')
  const [target, targetHandle] = to.split('.')
  return { source: source!, sourceHandle: sourceHandle!, target: target!, targetHandle: targetHandle! }
}

/** One input `name`, one output `greeting`. */
export function greeting(more: Partial<CreateWorkflowRequest> = {}): CreateWorkflowRequest {
  return {
    name: 'Greeting',
    graph: {
      nodes: [
        node('name', 'input.String', { name: 'name' }),
        node('template', 'text.Template', { template: 'Hello, {{name}}!' }),
        node('greeting', 'output.Output', { name: 'greeting' }),
      ],
      edges: [edge('name.output', 'template.name'), edge('template.output', 'greeting.value')],
    },
    ...more,
  }
}

/** Waits `seconds`, then publishes `done`. */
export function slow(seconds: number): CreateWorkflowRequest {
  return {
    name: 'Slow',
    graph: {
      nodes: [
        node('wait', 'control.Delay', { value: 'done', seconds }),
        node('out', 'output.Output', { name: 'result' }),
      ],
      edges: [edge('wait.output', 'out.value')],
    },
  }
}

/** A registry with `test.Gate`, which holds every run until the test opens it. */
export function gate(): { registry: NodeRegistry; open(): void } {
  const opened = Promise.withResolvers<void>()
  const type = {
    node_type: 'test.Gate',
    title: 'Gate',
    description: 'Waits until it is opened.',
    properties: [optionalProperty('value', 'any', 'What passes.')],
    outputs: [valueOutput('output', 'any')],
    run: async ({ value }: Record<string, unknown>) => {
      await opened.promise
      return { output: value }
    },
  }
  return { registry: createRegistry([...builtinRegistry.all(), type]), open: () => opened.resolve() }
}

/** Publishes `done` when the gate is open. */
export const GATED: CreateWorkflowRequest = {
  name: 'Gated',
  graph: {
    nodes: [node('gate', 'test.Gate', { value: 'done' }), node('out', 'output.Output', { name: 'result' })],
    edges: [edge('gate.output', 'out.value')],
  },
}

/** Stores a workflow and returns it. */
export async function created(server: { url: string }, workflow: CreateWorkflowRequest): Promise<Workflow> {
  const { body, status, text } = await call<StoredWorkflow>(server, 'POST', '/api/workflows', { body: workflow })
  if (status !== 201) throw new Error(text)
  const { issues: _, ...record } = body
  return record
}
