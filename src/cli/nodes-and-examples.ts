// `svc nodes` and `svc examples`: list the node types and the bundled workflows.
import type { NodeMetadata } from '../../generated/types.ts'
import { NameSuggestions } from '../engine/node-api/did-you-mean.ts'
import { formatType, type TypeMetadata } from '../engine/node-api/values/type-metadata.ts'
import { findNodeTypes, summarizeNodeType } from '../nodes/catalogue.ts'
import { exampleFor } from '../nodes/examples/catalogue.ts'
import type { NodeExample } from '../nodes/examples/node-example.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import { formatShortJson } from '../shared/short-json.ts'
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
    const example = exampleFor(one.node_type)
    const columns = outputColumns(stdout)
    await writeOutput(stdout, values.json ? formatJson({ ...one, example }) : formatNode(one, example, columns))
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

/** The characters of a line of JSON, unless one text is longer. */
const JSON_WIDTH = 76

function formatNode(node: NodeMetadata, example: NodeExample | null, columns: number): string {
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
  const shown = example === null ? [] : ['example:', ...formatExample(example, columns)]
  return `${[...head, ...part('properties', inputs), ...part('outputs', outputs), ...shown].join('\n')}\n`
}

/** The lines of an example. Where they are not wrapped, they are JSON. */
function formatExample(example: NodeExample, columns: number): string[] {
  return formatShortJson(example, JSON_WIDTH)
    .split('\n')
    .map((line) => {
      const text = line.trimStart()
      const indent = ' '.repeat(line.length - text.length + 2)
      return wrapText(indent, text, columns, indent.length + 2)
    })
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
