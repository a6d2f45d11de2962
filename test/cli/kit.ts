// Graphs for tests of the terminal, and a screen that shows what is drawn.

import { compileGraph, type Plan } from '../../src/engine/compile/compiler.ts'
import type { Graph, GraphNode } from '../../src/engine/compile/graph.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'

/** An edge written as `source.handle>target.handle`. */
export function graphOf(nodes: readonly GraphNode[], edges: readonly string[]): Graph {
  return {
    nodes: [...nodes],
    edges: edges.map((edge) => {
      const [source, sourceHandle, target, targetHandle] = edge.split(/[.>]/) as [string, string, string, string]
      return { source, sourceHandle, target, targetHandle }
    }),
  }
}

export function planOf(graph: Graph): Plan {
  const { plan, issues } = compileGraph(graph, builtinRegistry)
  if (!plan) throw new Error(issues.map((issue) => issue.message).join('\n'))
  return plan
}

/** An input of a type that leads to an output of the same name. */
export function echo(...inputs: readonly { name: string; type: string; data?: Record<string, unknown> }[]): Graph {
  const nodes = inputs.flatMap(({ name, type, data }): GraphNode[] => [
    { id: `in-${name}`, type: `input.${type}`, data: { name, ...data } },
    { id: `out-${name}`, type: 'output.Output', data: { name } },
  ])
  return graphOf(
    nodes,
    inputs.map(({ name }) => `in-${name}.output>out-${name}.value`),
  )
}

/** A list of numbers that pass `delays` nodes one after the other, each of which waits so many seconds, and are collected. */
export function delayed(items: number, seconds: number, delays = 1): Graph {
  const ids = Array.from({ length: delays }, (_, index) => `delay-${index + 1}`)
  const ports = ['each.item', ...ids.map((id) => `${id}.output`)]
  const targets = [...ids.map((id) => `${id}.value`), 'all.item']
  return graphOf(
    [
      { id: 'list', type: 'input.List', data: { name: 'list', value: Array.from({ length: items }, (_, at) => at) } },
      { id: 'each', type: 'control.ForEach', data: {} },
      ...ids.map((id) => ({ id, type: 'control.Delay', data: { seconds } })),
      { id: 'all', type: 'control.Collect', data: {} },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    ['list.output>each.list', ...ports.map((port, at) => `${port}>${targets[at]}`), 'all.list>out.value'],
  )
}

/** A text that is not JSON, read as JSON. */
export function failing(): Graph {
  return graphOf(
    [
      { id: 'text', type: 'input.String', data: { name: 'text', value: '{' } },
      { id: 'read', type: 'json.Parse', data: {} },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    ['text.output>read.text', 'read.output>out.value'],
  )
}

/** A terminal that remembers: the text of its lines after all writes, without colours. */
export class Screen {
  readonly isTTY = true
  readonly columns: number
  readonly rows: number
  /** Every write in order. */
  readonly writes: string[] = []
  #lines: string[] = ['']
  #row = 0

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  write(text: string, done?: () => void): boolean {
    this.writes.push(text)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what this reads
    for (const [part] of text.matchAll(/\u001b\[\d*[A-Za-z]|\n|\r|[^\u001b\n\r]+/g)) this.#obey(part)
    done?.()
    return true
  }

  /** All lines so far, including those that have scrolled out. */
  get lines(): string[] {
    return this.#lines.at(-1) === '' ? this.#lines.slice(0, -1) : [...this.#lines]
  }

  #obey(part: string): void {
    if (part === '\r') return
    if (part === '\n') {
      this.#row++
      this.#lines[this.#row] ??= ''
    } else if (!part.startsWith('\u001b')) this.#lines[this.#row] += part
    else if (part.endsWith('A')) this.#row -= Number(part.slice(2, -1))
    else if (part.endsWith('J')) this.#lines = [...this.#lines.slice(0, this.#row), '']
    else if (!part.endsWith('m')) throw new Error(`the screen does not know ${JSON.stringify(part)}`)
  }
}
