// Workflows with expensive nodes: patterns, long texts, long lists and long streams. The nodes are valid. Their inputs are large, and their
// results are counted, so that answers stay small.

import type { Graph } from '../../../src/engine/compile/graph.ts'
import { MAX_DYNAMIC_INPUTS } from '../../../src/engine/compile/node-constants.ts'
import type { Attack, AttackOf } from '../kit.ts'

type Data = Record<string, unknown>
/** A node type, its own values, and the input that takes the output of the node before. */
type Link = readonly [type: string, data: Data, input?: string, handle?: string]

const sized = (full: number, share: number) => Math.max(2, Math.floor(full * share))
const listOf = <T>(count: number, item: (at: number) => T) => Array.from({ length: count }, (_, at) => item(at))

/** Nodes in a chain. The first one outputs the run's parameter `text`, where it is an input. */
export function links(chain: readonly Link[]): Graph {
  const nodes = chain.map(([type, data], at) => ({ id: `n${at}`, type, data }))
  const edges = chain.slice(1).map(([, , targetHandle = 'text'], at) => ({
    source: `n${at}`,
    sourceHandle: chain[at]![3] ?? 'output',
    target: `n${at + 1}`,
    targetHandle,
  }))
  return { nodes, edges }
}

const INPUT: Link = ['input.String', { name: 'text' }]

/** Runs a workflow with a text several times at once. */
export function running(name: string, chain: readonly Link[], text: string, side_by_side = 4): Attack {
  const body = JSON.stringify({ params: chain[0] === INPUT ? { text } : {} })
  let id = ''
  return {
    name,
    side_by_side,
    async prepare(attacker) {
      id = await attacker.store(links(chain))
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body),
  }
}

const said = (count: number) => count.toLocaleString('en')
const wordsOf = (count: number) => listOf(count, (at) => `w${(at * 7_919) % count}`).join(' ')

const patterns: AttackOf = (share) => {
  const count = sized(300_000, share)
  const match: Link = ['regex.Match', { pattern: '[\\p{L}\\p{N}]{500}x$' }]
  return running(`a pattern in ${said(count)} letters`, [INPUT, match], `${'é'.repeat(count)}x!`, 16)
}

const frequencies: AttackOf = (share) => {
  const count = sized(1_000_000, share)
  const chain: Link[] = [INPUT, ['text.WordFrequency', { most: 10 }]]
  return running(`how often each of ${said(count)} words is there`, chain, wordsOf(count))
}

const groups: AttackOf = (share) => {
  const count = sized(300_000, share)
  const numbers = listOf(count, (at) => `{"a":${(at * 7_919) % count},"b":"x${at}"}`).join('\n')
  const chain: Link[] = [INPUT, ['data.ParseJsonLines', {}, 'text', 'rows'], ['list.GroupBy', { key: 'a' }, 'list']]
  return running(`${said(count)} rows, parsed and grouped`, chain, numbers)
}

const uniques: AttackOf = (share) => {
  const count = sized(1_000_000, share)
  const chain: Link[] = [INPUT, ['text.Words', {}], ['list.Unique', {}, 'list'], ['list.Length', {}, 'list']]
  return running(`${said(count)} different words in a list`, chain, wordsOf(count))
}

const lines: AttackOf = (share) => {
  const count = sized(1_000_000, share)
  const chain: Link[] = [INPUT, ['text.Lines', { drop_empty: true }], ['list.Length', {}, 'list']]
  return running(`${said(count)} lines`, chain, listOf(count, (at) => `line ${at}`).join('\n'))
}

const csv: AttackOf = (share) => {
  const count = sized(200_000, share)
  const chain: Link[] = [INPUT, ['text.ParseCsv', {}, 'text', 'rows'], ['list.Length', {}, 'list']]
  return running(`a table of ${said(count)} rows`, chain, `a,b\n${listOf(count, (at) => `${at},"x${at}"`).join('\n')}`)
}

const numbers: AttackOf = (share) => {
  const to = sized(300_000, share)
  const chain: Link[] = [
    ['control.Numbers', { to }, '', 'item'],
    ['control.Count', {}, 'item'],
  ]
  return running(`a stream of ${said(to)} numbers`, chain, '', 16)
}

/** Many nearly free firings, and then many that are just too short for a thread of their own. */
const growing: AttackOf = (share) => {
  const page = '<p><b>a</b><a href="b">c</a>'.repeat(235)
  const some = [...listOf(600, () => 'a'), ...listOf(130, () => page)]
  const count = sized(6, share)
  const chain: Link[] = [
    INPUT,
    ['text.Lines', {}],
    ['control.ForEach', {}, 'list', 'item'],
    ['text.HtmlToMarkdown', {}, 'html'],
    ['control.Count', {}, 'item'],
  ]
  const lines = listOf(count, () => some).flat()
  return running(`${said(lines.length)} texts that grow suddenly`, chain, lines.join('\n'), 1)
}

/** The result of code leaves its worker as text, which the main thread parses. It gets its time even beside all other attacks. */
const named: AttackOf = (share) => {
  const count = Math.max(60_000, sized(90_000, share))
  const code = `const made = (name) => Object.fromEntries(Array.from({length: ${count}}, (_, at) => [name + at, at]));
    return {a: ['a', 'b', 'c'].map(made)}`
  const data = { code, time_limit_ms: 60_000, memory_limit_mb: 256 }
  let id = ''
  return {
    name: `code that gives three objects of ${said(count)} names`,
    async prepare(attacker) {
      const node = { id: 'code', type: 'code.JavaScript', data, dynamic_outputs: { a: { type: 'any' } } }
      id = await attacker.store({ nodes: [node], edges: [] })
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
      if (!text.includes('"completed"')) throw new Error(text.slice(0, 300))
    },
  }
}

/** Each firing of a node gets all of its inputs by name. */
const given: AttackOf = (share) => {
  const count = sized(MAX_DYNAMIC_INPUTS, share)
  const names = listOf(count, (at) => `k${at}`)
  const node = {
    id: 'code',
    type: 'code.JavaScript',
    data: { code: 'return {}', ...Object.fromEntries(names.slice(1).map((name) => [name, 1])) },
    dynamic_properties: Object.fromEntries(names.map((name) => [name, { type: 'any' }])),
  }
  const numbers = { id: 'numbers', type: 'control.Numbers', data: { to: 10 } }
  const edges = [{ source: 'numbers', sourceHandle: 'item', target: 'code', targetHandle: 'k0' }]
  let id = ''
  return {
    name: `a stream through code with ${said(count)} inputs`,
    async prepare(attacker) {
      id = await attacker.store({ nodes: [numbers, node], edges })
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
      if (!text.includes('"completed"')) throw new Error(text.slice(0, 300))
    },
  }
}

export const nodes: readonly AttackOf[] = [
  patterns,
  frequencies,
  groups,
  uniques,
  lines,
  csv,
  numbers,
  growing,
  named,
  given,
]
