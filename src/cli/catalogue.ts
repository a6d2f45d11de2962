// `svc nodes` and `svc examples`: what there is to build with, and to start from.
import type { NodeMetadata } from '../../generated/types.ts'
import { Hints } from '../engine/suggest.ts'
import { type TypeMetadata, typeText } from '../engine/types.ts'
import { findNodes, nodeSummary } from '../nodes/catalogue.ts'
import { builtinNodes } from '../nodes/registry.ts'
import { type Example, exampleListItem, examples } from '../workflows/examples.ts'
import { readArguments } from './arguments.ts'
import { CommandError, columnsOf, EXIT, print, type Terminal } from './terminal.ts'
import { counted, wrapped } from './text.ts'

const OPTIONS = { json: { type: 'boolean', default: false } } as const

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

/** Runs `svc nodes` and gives its exit code. @throws CommandError where nothing is found */
export async function nodes(args: readonly string[], { stdout }: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 0, most: 1, what: 'TEXT' })
  const [text] = positionals
  const [one] = text === undefined ? [] : findNodes(builtinNodes, { node_type: text })
  if (one) {
    await print(stdout, values.json ? json(one) : nodeText(one, columnsOf(stdout)))
    return EXIT.completed
  }
  const found = findNodes(builtinNodes, { q: text })
  if (found.length === 0) throw nothingFound(text ?? '')
  const rows = found.map(({ node_type, title, description }) => [node_type, `${title}: ${description}`] as const)
  const list = `${listed(rows, columnsOf(stdout))}\n${counted(found.length, 'node type')}; svc nodes NAME tells all about one.\n`
  await print(stdout, values.json ? json(found.map(nodeSummary)) : list)
  return EXIT.completed
}

/** A line for each name with what it is, which goes on below itself where it is long. */
function listed(rows: readonly (readonly [name: string, text: string])[], columns: number): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `${wrapped(`${name.padEnd(width)}  `, text, columns)}\n`).join('')
}

function nothingFound(text: string): CommandError {
  const hint = new Hints().forType(text, builtinNodes.all())
  return new CommandError(EXIT.failed, `no node type has "${text}" in its name, title or description.${hint}`)
}

/** How far the lines after the first of a property go in. */
const PROPERTY_INDENT = 6

function nodeText(node: NodeMetadata, columns: number): string {
  const dynamic = [
    node.supports_dynamic_inputs ? 'any others, by the names that edges and dynamic_properties give them' : null,
    node.supports_dynamic_outputs ? 'any others, by the names that dynamic_outputs gives them' : null,
  ] as const
  const inputs = [...node.properties.map(propertyLine), dynamic[0]].filter((line) => line !== null)
  const outputs = [...node.outputs.map(outputLine), dynamic[1]].filter((line) => line !== null)
  const wrapLine = (line: string) => wrapped('  ', line, columns, PROPERTY_INDENT)
  const part = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [`${title}: none`] : [`${title}:`, ...lines.map(wrapLine)]
  const head = [wrapped('', `${node.node_type}: ${node.title}`, columns), wrapped('', node.description, columns), '']
  return `${[...head, ...part('properties', inputs), ...part('outputs', outputs)].join('\n')}\n`
}

function propertyLine(property: NodeMetadata['properties'][number]): string {
  const { name, description, required, min, max, values } = property
  const facts = [
    typeText(property.type as TypeMetadata),
    required ? 'required' : property.default === null ? null : `default ${JSON.stringify(property.default)}`,
    min === undefined ? null : `at least ${min}`,
    max === undefined ? null : `at most ${max}`,
    values === undefined ? null : `one of ${values.join(', ')}`,
  ].filter((fact) => fact !== null)
  return `${name} (${facts.join(', ')})${description === '' ? '' : `: ${description}`}`
}

function outputLine({ name, type, stream }: NodeMetadata['outputs'][number]): string {
  return `${name} (${stream ? 'stream of ' : ''}${typeText(type as TypeMetadata)})`
}

/** Runs `svc examples` and gives its exit code. */
export async function listExamples(args: readonly string[], { stdout }: Terminal): Promise<number> {
  const { values } = readArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  const all = [...examples().values()]
  await print(stdout, values.json ? json(all.map(exampleListItem)) : exampleList(all, columnsOf(stdout)))
  return EXIT.completed
}

function exampleList(all: readonly Example[], columns: number): string {
  const rows = all.map(({ id, description }) => [id, description] as const)
  return `${listed(rows, columns)}\n${counted(all.length, 'example')}; svc run ID runs one, with params of its own.\n`
}
