// Graphs in the minimal server: a few node types, what is wrong with a graph, and what a run of it computes.
import { createHash } from 'node:crypto'
import type { Doc } from './documents.ts'

export interface Issue {
  severity: 'error'
  code: string
  message: string
  node_id: string | null
  pin_name: string | null
}

interface NodeType {
  inputs: Readonly<Record<string, string>>
  outputs: Readonly<Record<string, string>>
  run?: (inputs: Doc, data: Doc) => Doc
}

const INPUTS: Readonly<Record<string, string>> = {
  'input.String': 'str',
  'input.Integer': 'int',
  'input.Float': 'float',
  'input.List': 'list[any]',
  'input.Any': 'any',
}

export const NODE_TYPES: Readonly<Record<string, NodeType>> = {
  ...Object.fromEntries(
    Object.entries(INPUTS).map(([name, type]) => [name, { inputs: {}, outputs: { output: type } }]),
  ),
  'text.Concat': {
    inputs: { a: 'str', b: 'str' },
    outputs: { output: 'str' },
    run: ({ a = '', b = '' }) => ({ output: a + b }),
  },
  'math.Formula': {
    inputs: { a: 'float' },
    outputs: { output: 'float' },
    run: ({ a }, { formula }) => ({ output: divided(a, formula) }),
  },
  'control.WaitFor': { inputs: {}, outputs: { value: 'any' } },
  'control.Delay': {
    inputs: { value: 'any', seconds: 'float' },
    outputs: { output: 'any' },
    run: ({ value }) => ({ output: value }),
  },
  'output.Output': { inputs: { value: 'any' }, outputs: {}, run: ({ value }) => ({ value }) },
}

function divided(a: number, formula: string): number {
  const quotient = a / Number(formula.split('/')[1])
  if (!Number.isFinite(quotient)) throw new Error('The quotient is no finite number.')
  return quotient
}

export function etagOf(graph: Doc): string {
  return createHash('sha256').update(JSON.stringify(graph)).digest('hex')
}

function error(code: string, message: string, node_id: string | null, pin_name: string | null = null): Issue {
  return { severity: 'error', code, message, node_id, pin_name }
}

export function graphIssues({ nodes, edges }: Doc): Issue[] {
  const issues: Issue[] = []
  const byId = new Map<string, Doc>()
  for (const node of nodes) {
    if (byId.has(node.id)) issues.push(error('graph_duplicate_id', 'The id stands twice.', node.id))
    if (!NODE_TYPES[node.type]) issues.push(error('graph_unknown_node', 'There is no such node type.', node.id))
    byId.set(node.id, node)
  }
  const fed = new Set<string>()
  for (const { source, sourceHandle, target, targetHandle } of edges) {
    const [from, to] = [byId.get(source), byId.get(target)].map((node) => node && NODE_TYPES[node.type])
    if (!from || !to) issues.push(error('graph_dangling_edge', 'An end of the edge is no node.', target))
    else if (!(sourceHandle in from.outputs) || !(targetHandle in to.inputs)) {
      issues.push(error('graph_unknown_handle', 'There is no such handle.', target, targetHandle))
    } else if (!fits(from.outputs[sourceHandle]!, to.inputs[targetHandle]!)) {
      issues.push(error('graph_type_mismatch', 'The types do not fit.', target, targetHandle))
    }
    const place = JSON.stringify([target, targetHandle])
    if (fed.has(place)) issues.push(error('graph_fan_in', 'Two edges lead there.', target, targetHandle))
    fed.add(place)
  }
  if (issues.length === 0 && ordered({ nodes, edges }) === null)
    issues.push(error('graph_illegal_cycle', 'There is a cycle.', null))
  return issues
}

function fits(from: string, to: string): boolean {
  const numbers = ['int', 'float']
  return from === to || to === 'any' || from === 'any' || (numbers.includes(from) && numbers.includes(to))
}

/** The nodes in an order in which they can run, those that wait last; null where there is none. */
export function ordered({ nodes, edges }: Doc): Doc[] | null {
  const done: Doc[] = []
  const left = [...nodes]
  while (left.length > 0) {
    const ready = left.filter(({ id }) =>
      edges.every((edge: Doc) => edge.target !== id || done.some((one) => one.id === edge.source)),
    )
    const next = ready.find(({ type }) => type !== 'control.WaitFor') ?? ready[0]
    if (!next) return null
    done.push(...left.splice(left.indexOf(next), 1))
  }
  return done
}

export function inputsOf(graph: Doc): Doc[] {
  return graph.nodes.filter(({ type }: Doc) => type in INPUTS)
}

export function inputIssues(graph: Doc, inputs: Doc): Issue[] {
  const known = inputsOf(graph)
  const unknown = Object.keys(inputs).filter((name) => !known.some(({ data }) => data.name === name))
  return [
    ...unknown.map((name) => error('unknown_input', 'There is no such input.', null, name)),
    ...known.flatMap(({ id, type, data }) => {
      const value = inputs[data.name] ?? data.value
      if (value === undefined) return [error('missing_input', 'A value is missing.', id, data.name)]
      if (!isOf(INPUTS[type]!, value))
        return [error('input_type_mismatch', 'The value has another type.', id, data.name)]
      if (value < (data.min ?? -Infinity))
        return [error('input_below_minimum', 'The value is too small.', id, data.name)]
      return value > (data.max ?? Infinity)
        ? [error('input_above_maximum', 'The value is too large.', id, data.name)]
        : []
    }),
  ]
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'str') return typeof value === 'string'
  if (type === 'int') return Number.isInteger(value)
  if (type === 'float') return typeof value === 'number'
  return type === 'any' || Array.isArray(value)
}

export function typeRecord(type: string): object {
  const list = type === 'list[any]'
  const args = list ? [typeRecord('any')] : []
  return { type: list ? 'list' : type, optional: false, values: [], type_args: args, type_name: null }
}

export function interfaceOf(id: string, graph: Doc): object {
  return {
    version: 1,
    workflow_id: id,
    etag: etagOf(graph),
    source: 'server',
    inputs: inputsOf(graph).map(({ id: node_id, type, data }) => ({
      node_id,
      name: data.name,
      description: '',
      type: typeRecord(INPUTS[type]!),
      required: data.value === undefined,
      default: data.value ?? null,
      stream: false,
    })),
    outputs: graph.nodes
      .filter(({ type }: Doc) => type === 'output.Output')
      .map(({ id: node_id, data }: Doc) => ({
        node_id,
        name: data.name,
        description: '',
        type: typeRecord('any'),
        stream: false,
      })),
    diagnostics: graphIssues(graph).map(({ severity, code, message }) => ({ severity, code: code.slice(6), message })),
  }
}
