// `svc nodes` and `svc examples`: list the node types and the bundled workflows.
import type { NodeMetadata } from '../../generated/types.ts'
import { NameSuggestions } from '../engine/node-api/did-you-mean.ts'
import { formatType, type TypeMetadata } from '../engine/node-api/values/type-metadata.ts'
import { findNodeTypes, summarizeNodeType } from '../nodes/catalogue.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import { type BundledExample, loadExamples, toExampleListItem } from '../workflows/examples.ts'
import { parseArguments } from './shared/arguments.ts'
import { CommandError, EXIT_CODES, outputColumns, type Terminal, writeOutput } from './shared/terminal.ts'
import { pluralize, wrapText } from './shared/terminal-text.ts'

const OPTIONS = { json: { type: 'boolean', default: false } } as const

const formatJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

/** Runs `svc nodes` and returns its exit code. @throws CommandError if nothing is found */
export async function runNodesCommand(args: readonly string[], { stdout }: Terminal): Promise<number> {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 0, most: 1, what: 'TEXT' })
  const [text] = positionals
  const [one] = text === undefined ? [] : findNodeTypes(builtinRegistry, { node_type: text })
  if (one) {
    await writeOutput(stdout, values.json ? formatJson(one) : formatNode(one, outputColumns(stdout)))
    return EXIT_CODES.completed
  }
  const found = findNodeTypes(builtinRegistry, { q: text })
  if (found.length === 0) throw nothingFoundError(text ?? '')
  const rows = found.map(({ node_type, title, description }) => [node_type, `${title}: ${description}`] as const)
  const list = `${formatList(rows, outputColumns(stdout))}\n${pluralize(found.length, 'node type')}; svc nodes NAME tells all about one.\n`
  await writeOutput(stdout, values.json ? formatJson(found.map(summarizeNodeType)) : list)
  return EXIT_CODES.completed
}

/** A line for each name and its text, which is wrapped below itself if it is long. */
function formatList(rows: readonly (readonly [name: string, text: string])[], columns: number): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `${wrapText(`${name.padEnd(width)}  `, text, columns)}\n`).join('')
}

function nothingFoundError(text: string): CommandError {
  const hint = new NameSuggestions().suggestType(text, builtinRegistry.all())
  return new CommandError(EXIT_CODES.failed, `no node type has "${text}" in its name, title or description.${hint}`)
}

/** The indent of the lines after the first of a property. */
const PROPERTY_INDENT = 6

function formatNode(node: NodeMetadata, columns: number): string {
  const dynamic = [
    node.supports_dynamic_inputs ? 'any others, by the names that edges and dynamic_properties give them' : null,
    node.supports_dynamic_outputs ? 'any others, by the names that dynamic_outputs gives them' : null,
  ] as const
  const inputs = [...node.properties.map(formatProperty), dynamic[0]].filter((line) => line !== null)
  const outputs = [...node.outputs.map(formatOutput), dynamic[1]].filter((line) => line !== null)
  const wrapLine = (line: string) => wrapText('  ', line, columns, PROPERTY_INDENT)
  const part = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [`${title}: none`] : [`${title}:`, ...lines.map(wrapLine)]
  const head = [wrapText('', `${node.node_type}: ${node.title}`, columns), wrapText('', node.description, columns), '']
  return `${[...head, ...part('properties', inputs), ...part('outputs', outputs)].join('\n')}\n`
}

function formatProperty(property: NodeMetadata['properties'][number]): string {
  const { name, description, required, min, max, values } = property
  const facts = [
    formatType(property.type as TypeMetadata),
    required ? 'required' : property.default === null ? null : `default ${JSON.stringify(property.default)}`,
    min === undefined ? null : `at least ${min}`,
    max === undefined ? null : `at most ${max}`,
    values === undefined ? null : `one of ${values.join(', ')}`,
  ].filter((fact) => fact !== null)
  return `${name} (${facts.join(', ')})${description === '' ? '' : `: ${description}`}`
}

function formatOutput({ name, type, stream }: NodeMetadata['outputs'][number]): string {
  return `${name} (${stream ? 'stream of ' : ''}${formatType(type as TypeMetadata)})`
}

/** Runs `svc examples` and returns its exit code. */
export async function runExamplesCommand(args: readonly string[], { stdout }: Terminal): Promise<number> {
  const { values } = parseArguments(args, OPTIONS, { least: 0, most: 0, what: '' })
  const all = [...loadExamples().values()]
  await writeOutput(
    stdout,
    values.json ? formatJson(all.map(toExampleListItem)) : formatExamples(all, outputColumns(stdout)),
  )
  return EXIT_CODES.completed
}

function formatExamples(all: readonly BundledExample[], columns: number): string {
  const rows = all.map(({ id, description }) => [id, description] as const)
  return `${formatList(rows, columns)}\n${pluralize(all.length, 'example')}; svc run ID runs one, with params of its own.\n`
}
