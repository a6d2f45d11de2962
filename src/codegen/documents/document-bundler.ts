// Bundles a root and its referenced files into one document. Schemas become components; everything else is inlined. Within AsyncAPI
// operations, references into a channel's file become references to that channel in the document.
import { posix } from 'node:path'
import type { ContractProblem } from './contract-problems.ts'
import type { ContractSource } from './contract-source.ts'
import {
  appendToPointer,
  createSchemaReference,
  followPointer,
  isMap,
  type Json,
  type JsonMap,
  mapOf,
  parsePointer,
  readReference,
  sortKeys,
} from './json-pointer.ts'

export interface BundledDocument {
  document: JsonMap
  /** Names of the schemas that the document uses. */
  schemas: ReadonlySet<string>
}

/** Bundles one document. An unresolvable reference becomes a problem, and its target is left out. */
export function bundleDocument(source: ContractSource, root: string, problems: ContractProblem[]): BundledDocument {
  const value = source.files.get(root)
  if (!value) {
    problems.push({ file: root, pointer: '', message: 'does not exist or cannot be read' })
    return { document: {}, schemas: new Set() }
  }
  const channels = indexChannelFiles(value)
  const run = { source, root, channels, problems, reached: new Set<string>() }
  const document = mapOf(rewriteValue(run, value, { file: root, pointer: '', at: '', names: false, through: [] }))
  document.components = { ...mapOf(document.components), schemas: rewriteReachedSchemas(run) }
  dropUnusedComponents(document)
  checkLocalReferences(run, document, document, '')
  return { document, schemas: run.reached }
}

/** Keywords whose members are names that the author chooses. */
const NAME_MAP_KEYWORDS = new Set([
  ...['paths', 'parameters', 'headers', 'responses', 'requestBodies', 'content', 'callbacks'],
  ...['channels', 'operations', 'messages', 'schemas', 'properties'],
])
/** Keywords whose value is data. `$ref` has no meaning in it. */
const LITERAL_KEYWORDS = new Set(['example', 'examples', 'default', 'const', 'enum'])

interface BundlePosition {
  file: string
  /** The position in the file. */
  pointer: string
  /** The position in the document. */
  at: string
  /** Whether the keys of this map are names. */
  names: boolean
  /** References that are being resolved, to detect a circle. */
  through: readonly string[]
}

/** The state of one bundling. */
interface BundleRun {
  readonly source: ContractSource
  readonly root: string
  /** The root's channels by their files. */
  readonly channels: ReadonlyMap<string, string>
  readonly problems: ContractProblem[]
  /** The schemas found so far. */
  readonly reached: Set<string>
}

function indexChannelFiles(root: JsonMap): Map<string, string> {
  const files = Object.entries(mapOf(root.channels)).map(([name, channel]) => {
    return [(readReference(channel) ?? '').split('#')[0]!, name] as const
  })
  return new Map(files)
}

/** Rewrites the found schemas and the schemas that they refer to. The set grows during the walk. */
function rewriteReachedSchemas(run: BundleRun): JsonMap {
  const schemas: JsonMap = {}
  for (const name of run.reached) {
    const { file, schema } = run.source.schemas.get(name)!
    const place = {
      file,
      pointer: appendToPointer('', name),
      at: appendToPointer('/components/schemas', name),
      names: false,
      through: [],
    }
    schemas[name] = rewriteValue(run, schema, place) ?? {}
  }
  return sortKeys(schemas)
}

function rewriteValue(run: BundleRun, value: Json, place: BundlePosition): Json | undefined {
  if (Array.isArray(value)) {
    return value
      .map((item, index) => rewriteValue(run, item, childPosition(place, index, false)))
      .filter((item) => item !== undefined)
  }
  if (!isMap(value)) return value
  if (typeof value.$ref === 'string') return followReference(run, value, value.$ref, place)
  const result: JsonMap = {}
  for (const [key, member] of Object.entries(value)) {
    if (!place.names && LITERAL_KEYWORDS.has(key)) {
      result[key] = structuredClone(member)
      continue
    }
    const rewritten = rewriteValue(run, member, childPosition(place, key, !place.names && NAME_MAP_KEYWORDS.has(key)))
    if (rewritten !== undefined) result[key] = rewritten
  }
  return result
}

function followReference(run: BundleRun, node: JsonMap, reference: string, place: BundlePosition): Json | undefined {
  const others = Object.keys(node).filter((key) => key !== '$ref')
  if (others.length > 0) reportProblem(run, place, `has ${others.join(', ')} beside a $ref`)
  const [target = '', pointer = ''] = reference.split('#')
  const file = target === '' ? place.file : posix.normalize(posix.join(posix.dirname(place.file), target))
  if (file.startsWith('schemas/')) return reachSchema(run, file, pointer, place)
  if (file === run.root) return { $ref: `#${pointer}` }
  const channel = findChannelPart(run, file, pointer, place)
  if (channel !== null) return { $ref: `#${channel}` }
  return inlineReference(run, file, pointer, reference, place)
}

function reachSchema(run: BundleRun, file: string, pointer: string, place: BundlePosition): Json | undefined {
  const [name = '', ...deeper] = parsePointer(pointer)
  if (deeper.length > 0 || run.source.schemas.get(name)?.file !== file) {
    reportProblem(run, place, `refers to ${file}#${pointer}, which is not a schema`)
    return undefined
  }
  run.reached.add(name)
  return createSchemaReference(name)
}

/** Returns the document's pointer of a part of a channel's file, for references that must stay references. */
function findChannelPart(run: BundleRun, file: string, pointer: string, { at }: BundlePosition): string | null {
  const channel = run.channels.get(file)
  if (!channel || !/^\/operations\/[^/]+\//.test(at)) return null
  const [part, ...rest] = parsePointer(pointer)
  if (part === 'channel') return rest.reduce(appendToPointer, appendToPointer('/channels', channel))
  if (part === 'messages') return rest.reduce(appendToPointer, `${appendToPointer('/channels', channel)}/messages`)
  return null
}

function inlineReference(
  run: BundleRun,
  file: string,
  pointer: string,
  reference: string,
  place: BundlePosition,
): Json | undefined {
  const target = followPointer(run.source.files.get(file), pointer)
  const id = `${file}#${pointer}`
  if (target === undefined) reportProblem(run, place, `refers to ${reference}, which does not exist`)
  else if (place.through.includes(id)) reportProblem(run, place, `refers to ${reference} in a circle`)
  else return rewriteValue(run, target, { ...place, file, pointer, names: false, through: [...place.through, id] })
  return undefined
}

function checkLocalReferences(run: BundleRun, document: JsonMap, value: Json, at: string): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      checkLocalReferences(run, document, item, appendToPointer(at, index))
    })
  } else if (isMap(value)) {
    const { $ref } = value
    if (typeof $ref === 'string' && followPointer(document, $ref.slice(1)) === undefined)
      run.problems.push({ file: run.root, pointer: at, message: `refers to ${$ref}, which does not exist` })
    for (const [key, member] of Object.entries(value)) {
      if (!LITERAL_KEYWORDS.has(key)) checkLocalReferences(run, document, member, appendToPointer(at, key))
    }
  }
}

function reportProblem(run: BundleRun, { file, pointer }: BundlePosition, message: string): void {
  run.problems.push({ file, pointer, message })
}

/** The root lists all error replies for each transport. A document keeps only those that it uses. */
function dropUnusedComponents(document: JsonMap): void {
  // Replies come first, because some headers are used only by replies.
  for (const kind of ['responses', 'parameters', 'headers', 'tags']) {
    const named = mapOf(mapOf(document.components)[kind])
    const used = collectReferences(document, new Set())
    for (const name of Object.keys(named)) if (!used.has(`#/components/${kind}/${name}`)) delete named[name]
  }
}

function collectReferences(value: Json, found: Set<string>): Set<string> {
  if (isMap(value) && typeof value.$ref === 'string') found.add(value.$ref)
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) collectReferences(member, found)
  return found
}

function childPosition(place: BundlePosition, key: string | number, names: boolean): BundlePosition {
  return { ...place, pointer: appendToPointer(place.pointer, key), at: appendToPointer(place.at, key), names }
}
